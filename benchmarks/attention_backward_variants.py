"""What each change to attention's backward kernels brings on a GPU, and what brings nothing.

    python benchmarks/attention_backward_variants.py [--output FILE]

Needs a Hopper GPU. float16, the widths and lengths of attention.py. First every part (forward, dk and dv,
dq, all gradients) is made by each of its variants and compared with float64; the right ones are
timed by turns. Then whole passes are put together from the fastest parts of each kind and timed in
turn with the course's `attention` and PyTorch's. A variant that is wrong, or does not start, is
recorded as such.
"""

import argparse
import math
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import torch
from attention import TIMING, TOKENS, WIDTH, inputs, interleaved, kernels
from attention_backward import ALLOWED, BACKWARD, ENDS, exact_gradients, relative_errors
from backward_variants import (
    DESCRIPTORS,
    ONE_PASS,
    POINTERS,
    TWO,
    Given,
    Variant,
    variants,
    without_memory,
)
from recording import MEASUREMENTS, write

from autograder.bench.reference import kernel
from autograder.steps.case import UNIT_ROUNDOFF

WIDTHS = (128, 64)
SCREENED, LENGTHS = 4096, (4096, 16384)
SCREENING = {"warmup": 30, "rep": 20}  # ms
# Operations of a part over those of the forward, which has two products.
OPERATIONS = {"forward": 1, "keys": 2, "queries": 1.5, "all gradients": BACKWARD}
NAMES = {
    "forward": ("out", "lse"),
    "keys": ("dk", "dv"),
    "queries": ("dq",),
    "all gradients": ("dq", "dk", "dv"),
}
MOST = ALLOWED * UNIT_ROUNDOFF["float16"]


def compile_one(d: int, causal: bool, number: int) -> None:
    """Puts a variant's kernel into Triton's cache. What does not compile is met again at its launch."""
    try:
        variants(d)[number](without_memory(d, causal))
    except Exception:  # noqa: BLE001, S110
        pass


def compile_all() -> None:
    jobs = [(d, c, n) for d in WIDTHS for c in (False, True) for n in range(len(variants(d)))]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), spawn) as workers:
        for job in [workers.submit(compile_one, *job) for job in jobs]:
            job.result()


# --- right answers ----------------------------------------------------------------------------


def given_for(q, k, v, dout, causal: bool) -> tuple[Given, torch.Tensor]:
    """What the parts start from, and the result, by the chapter's own kernels."""
    out, lse = kernel("attention", "attention_forward")(q, k, v, causal, q.shape[3] ** -0.5)
    return Given(q, k, v, dout, lse, kernel("attention", "attention_delta")(out, dout), causal), out


def exact_parts(given: Given, end: tuple[int, int]) -> dict[str, torch.Tensor]:
    """out, lse (in base 2), dq, dk and dv of one head, in float64."""
    q, k, v, dout = (x[end] for x in (given.q, given.k, given.v, given.dout))
    scores = q.double() @ k.double().mT * given.scale
    if given.causal:
        later = torch.ones_like(scores, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    found = {
        "out": torch.softmax(scores, -1) @ v.double(),
        "lse": torch.logsumexp(scores, -1) / math.log(2),
    }
    return found | dict(zip(("dq", "dk", "dv"), exact_gradients(q, k, v, dout, given.causal)))


def examined(variant: Variant, given: Given, exact: dict) -> dict:
    """Whether a variant is right, and what the compiler says of it."""
    row = {"status": "right"}
    try:
        answer, made = variant(given)
        if given.q.is_cuda:
            torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001 - recorded, whatever it is
        words = str(error).strip().splitlines() or [""]
        return {"status": "failed", "message": f"{type(error).__name__}: {words[0]}"[:200]}
    if made is not None:  # in the interpreter there is nothing compiled
        row |= {"registers": made.n_regs, "spills": made.n_spills, "shared": made.metadata.shared}
    row["relative_error"] = {}
    for name, tensor in zip(NAMES[variant.part], answer, strict=True):
        errors = [
            ((tensor[end].double() - right[name]).norm() / right[name].norm()).item()
            for end, right in exact.items()
        ]
        row["relative_error"][name] = float(f"{max(errors):.3g}")
    if not all(error <= MOST for error in row["relative_error"].values()):
        row["status"] = "wrong"
    return row


# --- parts ------------------------------------------------------------------------------------


def described(variant: Variant) -> dict:
    return {
        "part": variant.part,
        "variant": variant.name,
        "kind": variant.kind,
        "BLOCK_M": variant.block_m,
        "BLOCK_N": variant.block_n,
        "num_warps": variant.warps,
        "num_stages": variant.stages,
        **variant.more,
    }


def forward_operations(n: int, causal: bool) -> float:
    return 4 * TOKENS * n * WIDTH * (0.5 if causal else 1)


def screened(d: int, causal: bool) -> list[dict]:
    """A row for each variant of a head dimension, those that are right with their time."""
    given, _ = given_for(*inputs(d, SCREENED, 4), causal)
    exact = {end: exact_parts(given, end) for end in ENDS}
    rows = []
    for part, operations in OPERATIONS.items():
        of_part = [v for v in variants(d) if v.part == part]
        facts = {v.name: examined(v, given, exact) for v in of_part}
        calls = {v.name: partial(v, given) for v in of_part if facts[v.name]["status"] == "right"}
        timings = interleaved(calls, **SCREENING) if calls else {}
        chapters = timings.get(of_part[0].name) if part != "all gradients" else None
        for variant in of_part:
            row = {"D": d, "N": SCREENED, "causal": causal, **described(variant)}
            row |= facts[variant.name]
            timing = timings.get(variant.name)
            if timing:
                done = operations * forward_operations(SCREENED, causal)
                row |= {**timing, "tflops": round(done / timing["ms"] / 1e9, 1)}
            if timing and chapters:
                row["of_chapter"] = round(chapters["ms"] / timing["ms"], 3)
            rows.append(row)
            print(d, causal, row["variant"], row["part"], row["status"], row.get("tflops"),
                  row.get("of_chapter"), row.get("spills"), flush=True)  # fmt: skip
    return rows


# --- whole passes -----------------------------------------------------------------------------


def fastest(rows: list[dict], d: int, part: str, kinds: tuple[str, ...]) -> Variant | None:
    """The variant with the least product of its times with and without a causal mask."""
    times: dict[str, list[float]] = {}
    for row in rows:
        if row["D"] == d and row["part"] == part and row["kind"] in kinds and "ms" in row:
            times.setdefault(row["variant"], []).append(row["ms"])
    both = {name: math.prod(ms) for name, ms in times.items() if len(ms) == 2}
    if not both:
        return None
    best = min(both, key=both.get)
    return next(v for v in variants(d) if v.part == part and v.name == best)


def chains(rows: list[dict], d: int) -> dict[str, list[Variant]]:
    """The variants that make a whole pass, by the name of their kind."""
    described = (DESCRIPTORS, TWO)
    wanted = {
        "pointers, other tiles": [("forward", (POINTERS,)), ("keys", (POINTERS,)), ("queries", (POINTERS,))],
        "descriptors": [("forward", described), ("keys", described), ("queries", described)],
        "descriptors, one pass": [("forward", described), ("all gradients", (ONE_PASS,))],
    }  # fmt: skip
    found = {
        name: [fastest(rows, d, part, kinds) for part, kinds in parts]
        for name, parts in wanted.items()
    }
    return {name: chain for name, chain in found.items() if None not in chain}


def whole_pass(chain: list[Variant], q, k, v, dout, causal: bool) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv by the parts of a chain, the forward included."""
    nothing = torch.empty(q.shape[:3], device=q.device)
    (out, lse), _ = chain[0](Given(q, k, v, dout, nothing, nothing, causal))
    delta = kernel("attention", "attention_delta")(out, dout)
    given = Given(q, k, v, dout, lse, delta, causal)
    made = {}
    for variant in chain[1:]:
        made |= dict(zip(NAMES[variant.part], variant(given)[0], strict=True))
    return made["dq"], made["dk"], made["dv"]


def whole(rows: list[dict], d: int, n: int, causal: bool) -> list[dict]:
    """Rows of whole passes, forward and backward."""
    q, k, v, dout = inputs(d, n, 4)
    leaves = [x.requires_grad_() for x in (q, k, v)]

    def by_autograd(call):
        return torch.autograd.grad(call(*leaves, causal), leaves, dout)

    libraries = {name: call for name, call in kernels("attention").items() if name != "eager"}
    calls = {name: partial(by_autograd, call) for name, call in libraries.items()}
    made_of = chains(rows, d)
    plain = [x.detach() for x in leaves]
    calls |= {
        name: partial(whole_pass, chain, *plain, dout, causal) for name, chain in made_of.items()
    }
    errors = relative_errors({name: call() for name, call in calls.items()}, leaves, dout, causal)
    timings = interleaved(calls, **TIMING)
    operations = (1 + BACKWARD) * forward_operations(n, causal)
    found = []
    for name, timing in timings.items():
        found.append({
            "D": d, "N": n, "causal": causal, "part": "forward and backward", "variant": name,
            "status": "right" if max(errors[name].values()) <= MOST else "wrong",
            "made_of": [f"{v.part}: {v.name}" for v in made_of.get(name, [])],
            "relative_error": errors[name], **timing,
            "tflops": round(operations / timing["ms"] / 1e9, 1),
            "of_flash": round(timings["SDPA flash"]["ms"] / timing["ms"], 3),
            "of_cudnn": round(timings["SDPA cuDNN"]["ms"] / timing["ms"], 3),
        })  # fmt: skip
        shown = ("D", "N", "causal", "variant", "status", "tflops", "of_flash", "of_cudnn")
        print(*(found[-1][key] for key in shown), *found[-1]["made_of"], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "13_backward_variants.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        sys.exit("attention_backward_variants: no Hopper GPU found")
    compile_all()
    rows = [row for d in WIDTHS for causal in (False, True) for row in screened(d, causal)]
    for d in WIDTHS:
        for n in LENGTHS:
            for causal in (False, True):
                rows += whole(rows, d, n, causal)
    write(
        output,
        rows,
        dtype="float16",
        tokens=TOKENS,
        width=WIDTH,
        timer="do_bench, median of 3 medians",
    )


if __name__ == "__main__":
    main()
