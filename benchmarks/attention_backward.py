"""Attention forward and backward on a GPU: the course's `attention` against PyTorch's.

    python benchmarks/attention_backward.py [--output FILE]

Needs an NVIDIA GPU with 40 GB of memory. Lengths, heads and timing are those of attention.py. First
the gradients of the first and the last head are compared with float64; nothing is recorded if one
is wrong. Every call makes the result and the gradients of q, k and v.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import torch
from attention import LENGTHS, TIMING, TOKENS, WIDTH, extra_mib, inputs, interleaved, kernels
from recording import MEASUREMENTS, write

from autograder.steps.case import UNIT_ROUNDOFF

BACKWARD = 2.5  # operations of a backward pass over those of its forward pass
DTYPES = ("float16", "bfloat16")
# A right gradient is off by one to two unit roundoffs, relative to its norm; a wrong one by much more.
ALLOWED = 4
ENDS = ((0, 0), (-1, -1))  # batch and head


def exact_gradients(q, k, v, upstream, causal: bool) -> tuple[torch.Tensor, ...]:
    """Of q, k and v, in float64, for one head: each (N, D)."""
    leaves = [x.detach().double().requires_grad_() for x in (q, k, v)]
    scores = leaves[0] @ leaves[1].mT * q.shape[1] ** -0.5
    if causal:
        later = torch.ones_like(scores, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return torch.autograd.grad(torch.softmax(scores, -1) @ leaves[2], leaves, upstream.double())


def relative_errors(answers: dict, operands, upstream, causal: bool) -> dict[str, dict]:
    """{kernel: {"dq", "dk", "dv"}}: Frobenius norm of the error over that of the exact gradient, the
    larger of the first and the last head."""
    worst = {name: dict.fromkeys(("dq", "dk", "dv"), 0.0) for name in answers}
    for end in ENDS:
        exact = exact_gradients(*(x[end] for x in operands), upstream[end], causal)
        for name, gradients in answers.items():
            for of, gradient, right in zip(worst[name], gradients, exact):
                error = ((gradient[end].double() - right).norm() / right.norm()).item()
                worst[name][of] = max(worst[name][of], float(f"{error:.3g}"))
    return worst


def measured(d: int, n: int, causal: bool, dtype: str) -> list[dict]:
    """One row for each kernel. Ends the program where a gradient of the course's kernel is wrong."""
    q, k, v, upstream = inputs(d, n, 4, getattr(torch, dtype))
    leaves = [x.requires_grad_() for x in (q, k, v)]

    def both(call):
        return torch.autograd.grad(call(*leaves, causal), leaves, upstream)

    named = {name: call for name, call in kernels("attention").items() if name != "eager"}
    calls = {name: partial(both, call) for name, call in named.items()}
    answers = {name: call() for name, call in calls.items()}
    errors = relative_errors(answers, leaves, upstream, causal)
    del answers
    if not max(errors["attention"].values()) <= ALLOWED * UNIT_ROUNDOFF[dtype]:
        sys.exit(
            f"attention_backward: wrong for {(d, n, causal, dtype)}: {errors}; nothing was recorded"
        )
    extra = {name: extra_mib(call) for name, call in calls.items()}
    timings = interleaved(calls, **TIMING)
    operations = 4 * TOKENS * n * WIDTH * (0.5 if causal else 1) * (1 + BACKWARD)
    rows = [
        {
            "D": d,
            "N": n,
            "causal": causal,
            "dtype": dtype,
            "kernel": name,
            **timing,
            "tflops": round(operations / timing["ms"] / 1e9, 1),
            "of_flash": round(timings["SDPA flash"]["ms"] / timing["ms"], 3),
            "of_cudnn": round(timings["SDPA cuDNN"]["ms"] / timing["ms"], 3),
            "extra_mib": extra[name],
            "relative_error": errors[name],
        }
        for name, timing in timings.items()
    ]
    print(*rows, sep="\n", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "13_attention_backward.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("attention_backward: no GPU found")
    rows = []
    for dtype in DTYPES:
        for d in (64, 128):
            for n in LENGTHS:
                for causal in (False, True):
                    rows += measured(d, n, causal, dtype)
    write(
        output,
        rows,
        passes="forward and backward",
        tokens=TOKENS,
        width=WIDTH,
        operations=f"{1 + BACKWARD} times the forward's",
        timer="do_bench, median of 3 medians",
    )


if __name__ == "__main__":
    main()
