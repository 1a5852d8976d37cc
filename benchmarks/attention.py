"""Attention on a GPU: the course's kernels against PyTorch's, and how often they are right.

    python benchmarks/attention.py [--output FILE]

Needs an NVIDIA GPU with 100 GB of memory: the eager version writes every score. Each length has the
same number of tokens and the same width, so that the same queries and values are moved. Medians of
three interleaved rounds. First, random calls within the contract are compared with float64; nothing
is recorded if one is wrong.
"""

import argparse
import math
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch
from recording import MEASUREMENTS, write
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from autograder import course
from autograder.arena import lay_out
from autograder.bench.clock import interleaved
from autograder.bench.reference import function, kernel
from autograder.shared import MARGIN
from autograder.steps.attention import bound_of
from autograder.steps.attention_reference import Problem, attend
from autograder.steps.case import Operand, expanded, normal

TOKENS, WIDTH = 16384, 2048  # B * N and H * D
LENGTHS = (1024, 2048, 4096, 8192, 16384)
TIMING = {"warmup": 80, "rep": 40}  # ms: each kernel first brings the GPU to its own clock
SEED, CASES = 12, 400
# What TF32 may do to an fp32 product: the hardware cuts each operand to ten bits of fraction, an
# error of up to 2⁻¹⁰ and always towards zero, hence twice what rounding would ask for.
TF32 = 8 * 2.0**-10
LAYOUTS = (*["contiguous"] * 6, *["bnhd"] * 3, "padded", "transposed", "sliced", "expanded")


# --- right answers ----------------------------------------------------------------------------


def on_gpu(operand: Operand, device: str = "cuda") -> torch.Tensor:
    """The operand on the GPU or another device, in the layout and the type of the call."""
    storage, strides = lay_out(operand)
    storage = torch.from_numpy(storage).to(device, getattr(torch, operand.dtype))
    return storage.as_strided(operand.values.shape, strides, MARGIN)


def random_call(number: int) -> tuple[tuple[Operand, ...], bool, float | None]:
    """q, k, v, causal and scale of one call within the contract, drawn from its number."""
    rng = np.random.default_rng([SEED, number])

    def draw(*among):
        return among[rng.integers(len(among))]

    def length():
        return draw(1, *(int(2 ** rng.uniform(1, 9.5)) for _ in range(3)), 256, 384, 512)

    d, dtype = draw(16, 32, 64, 128, 128, 128), draw("float16", "bfloat16", "float32")
    nq, nk, batch, groups, share = length(), length(), draw(1, 2), draw(1, 2, 3), draw(1, 2, 3)
    operands = []
    for name, heads, n in (("q", groups * share, nq), ("k", groups, nk), ("v", groups, nk)):
        layout = draw(*LAYOUTS)
        values = (expanded if layout == "expanded" else normal)(rng, (batch, heads, n, d), dtype)
        operands.append(Operand(name, values, layout, dtype))
    scale = draw(None, None, None, round(rng.uniform(-0.2, 0.4), 3))
    return tuple(operands), bool(draw(False, True)), scale


def allowed(problem: Problem, expected: np.ndarray, dtype: str) -> np.ndarray:
    """The grader's bound; for float32 with what TF32 may do to both products."""
    bound = bound_of(problem, expected, dtype)
    if dtype != "float32":
        return bound
    p, v = problem.weights(), problem.v
    sizes = abs(problem.scale) * (np.abs(problem.q) @ np.abs(problem.k).swapaxes(2, 3))
    moved = p * TF32 * sizes / math.sqrt(problem.q.shape[3])
    return (
        bound
        + moved @ np.abs(v)
        + moved.sum(axis=3, keepdims=True) * np.abs(expected)
        + TF32 * np.sqrt((p * p) @ (v * v))
        + TF32 * np.abs(expected)
    )


def judge(step: str, number: int) -> tuple[str, bool, float, bool]:
    """dtype; whether the step's answer is right; its error over the bound; by the Hopper kernel?"""
    operands, causal, scale = random_call(number)
    dtype = operands[0].dtype
    problem = Problem.of(operands, causal, scale)
    expected = attend(problem)
    q, k, v = map(on_gpu, operands)
    result = function(step)(q, k, v, causal, scale).cpu().double().numpy()
    error, bound = np.abs(result - expected), allowed(problem, expected, dtype)
    hopper = "suits_hopper" in function(step).__globals__ and kernel(step, "suits_hopper")(
        q, k, v, problem.scale
    )
    share = float((error / np.maximum(bound, 1e-300)).max(initial=0.0))
    return dtype, bool((error <= bound).all()), share, hopper


def count_right(step: str) -> dict:
    """How many of the random calls a step answers rightly. Processes share the compiling."""
    workers = ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn"))
    with workers:
        answers = list(workers.map(partial(judge, step), range(CASES), chunksize=4))
    wrong = [number for number, answer in enumerate(answers) if not answer[1]]
    if wrong:
        print("WRONG:", [(random_call(n)[1:], answers[n]) for n in wrong])
    worst = {}
    for dtype, _, share, _ in answers:
        worst[dtype] = max(worst.get(dtype, 0.0), round(share, 3))
    return {
        "step": step,
        "seed": SEED,
        "calls": CASES,
        "right": CASES - len(wrong),
        "by_hopper_kernel": sum(answer[3] for answer in answers),
        "largest_share_of_bound": worst,
    }


def far_views_right() -> int:
    """How many of six calls are right in which q, k or v reaches 2^31 elements beyond its start."""
    plain = [torch.randn(1, 4, 256, 128, device="cuda").half() for _ in range(3)]
    memory = torch.empty(2**31 + 2**20, dtype=torch.float16, device="cuda")
    apart = {4: (2**31 // 3 // 8 * 8, 128), 1: (1, 2**31 // 255 // 8 * 8 + 8)}  # heads, queries
    right = 0
    for heads, (stride_h, stride_n) in apart.items():
        near = [x[:, :heads].contiguous() for x in plain]
        expected = function("flash_attention")(*near).double()
        for place in range(3):
            strides = (memory.numel(), stride_h, stride_n, 1)
            far = memory.as_strided((1, heads, 256, 128), strides).copy_(near[place])
            views = [far if n == place else x for n, x in enumerate(near)]
            error = function("flash_attention")(*views).double() - expected
            right += int((error.norm() / expected.norm()).item() < 1e-3)
    return right


# --- time and memory --------------------------------------------------------------------------


def eager(q, k, v, causal):
    """Attention as three operators, each of which goes through memory."""
    scores = q @ k.mT * q.shape[3] ** -0.5
    if causal:
        later = torch.ones(scores.shape[2:], dtype=torch.bool, device="cuda").triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return torch.softmax(scores, -1) @ v


def library(backend, q, k, v, causal):
    """PyTorch's attention by one of its backends."""
    with sdpa_kernel(backend):
        return scaled_dot_product_attention(q, k, v, is_causal=causal)


def kernels(step: str) -> dict:
    """What is compared, by the name it has in the record."""
    return {
        "eager": eager,
        "SDPA flash": partial(library, SDPBackend.FLASH_ATTENTION),
        "SDPA cuDNN": partial(library, SDPBackend.CUDNN_ATTENTION),
        step: function(step),
    }


def inputs(d: int, n: int, count: int, dtype=torch.float16) -> list[torch.Tensor]:
    generator = torch.Generator("cuda").manual_seed(n + d)
    shape = (TOKENS // n, WIDTH // d, n, d)
    return [torch.randn(shape, device="cuda", generator=generator).to(dtype) for _ in range(count)]


def extra_mib(call) -> float:
    """MiB allocated at the peak of a call, the result among them, beyond what was there before."""
    call()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    return round((torch.cuda.max_memory_allocated() - before) / 2**20, 1)


def relative_error(answer, q, k, v, causal) -> float:
    """Against float64, Frobenius norm, on 64 queries of the first and the last head."""
    n = q.shape[2]
    rows = torch.linspace(0, n - 1, 64, device="cuda").long()
    ends = [x[[0, -1]][:, [0, -1]].double() for x in (q, k, v)]
    scores = ends[0][:, :, rows] @ ends[1].mT * q.shape[3] ** -0.5
    if causal:
        later = torch.arange(n, device="cuda")[None, :] > rows[:, None]
        scores = scores.masked_fill(later, float("-inf"))
    exact = torch.softmax(scores, -1) @ ends[2]
    error = answer[[0, -1]][:, [0, -1]][:, :, rows].double() - exact
    return float(f"{(error.norm() / exact.norm()).item():.3g}")


def forward(d: int, n: int, causal: bool) -> list[dict]:
    q, k, v = inputs(d, n, 3)
    named = kernels("flash_attention")
    calls = {name: partial(call, q, k, v, causal) for name, call in named.items()}
    error = {name: relative_error(call(), q, k, v, causal) for name, call in calls.items()}
    extra = {name: extra_mib(call) for name, call in calls.items()}
    timings = interleaved(calls, **TIMING)
    operations = 4 * TOKENS * n * WIDTH * (0.5 if causal else 1)
    return rows_of("forward", d, n, causal, timings, operations, extra, relative_error=error)


def rows_of(passes, d, n, causal, timings, operations, extra, **more) -> list[dict]:
    rows = [
        {
            "passes": passes,
            "D": d,
            "N": n,
            "causal": causal,
            "kernel": name,
            **timing,
            "tflops": round(operations / timing["ms"] / 1e9, 1),
            "extra_mib": extra[name],
            **{key: value[name] for key, value in more.items()},
        }
        for name, timing in timings.items()
    ]
    print(*rows, sep="\n", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "12_attention.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("attention: no GPU found")
    steps = [s for s in ("flash_attention", "attention") if course.find_step(s)]
    answers = [count_right(step) for step in steps]
    far = far_views_right()
    print(answers, f"far views: {far} of 6 right", flush=True)
    if far < 6 or any(a["right"] < a["calls"] for a in answers):
        sys.exit("attention: a kernel is wrong; nothing was recorded")
    rows = []
    for d in (64, 128):
        for n in LENGTHS:
            for causal in (False, True):
                rows += forward(d, n, causal)
    write(
        output,
        rows,
        dtype="float16",
        tokens=TOKENS,
        width=WIDTH,
        timer="do_bench, median of 3 medians",
        answers=answers,
        far_views={"calls": 6, "right": far},
    )


if __name__ == "__main__":
    main()
