"""Random calls of `flash_attention` and `attention` within the contract, judged by the grader's bounds.

    python benchmarks/attention_cases.py [--count N] [--seed N] [--device cuda|cpu] [--output FILE]

On a GPU the calls are shared out over processes, since each compiles kernels of its own. float32
tiles are multiplied in IEEE arithmetic there (TRITON_F32_DEFAULT), so that the bounds hold as they are.
On a CPU, where kernels run in the interpreter, a small count is a smoke test, and nothing is written
unless a file is named. Exits 1 when a call was wrong; the record names it in full.
"""

import argparse
import multiprocessing
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch
from recording import MEASUREMENTS, write

from autograder.formats import rounded
from autograder.steps.attention import around_one, draw_case, needles, shift_scores
from autograder.steps.attention_backward import draw_backward_case
from autograder.steps.case import Case

SEED, COUNT = 13, 320
STEPS = ("flash_attention", "attention")
LAYOUTS = (*["contiguous"] * 5, *["bnhd"] * 3, "padded", "transposed", "sliced", "expanded")
VALUES = (
    *["normal"] * 5,
    "far above zero",
    "below zero",
    "far below zero",
    "needles",
    "around one",
)
WANTED = (*["qkv"] * 5, "q", "k", "v", "qv")
LONGEST = {"flash_attention": 600, "attention": 300}
# The bound of a gradient takes this many float64 numbers, several times over.
MOST = 2**24


# --- drawing ----------------------------------------------------------------------------------


def random_case(step: str, seed: int, number: int) -> tuple[Case, str]:
    """One call and the kind of its values, drawn from these three."""
    rng = np.random.default_rng([seed, STEPS.index(step), number])

    def draw(among):
        return among[int(rng.integers(len(among)))]

    def length():
        most = LONGEST[step]
        ragged = [int(2 ** rng.uniform(1, np.log2(most))) for _ in range(3)]
        whole = [16 * int(rng.integers(1, most // 16)) for _ in range(2)]
        return draw([1, *ragged, *whole])

    while True:
        d, nq, nk = draw((16, 32, 64, 64, 128, 128)), length(), length()
        b, groups, share = draw((1, 1, 2)), draw((1, 1, 2, 3)), draw((1, 1, 2, 3))
        if step == "flash_attention" or b * groups * share * max(nq, nk) * d * d <= MOST:
            break
    dtype = draw(("float16", "float16", "bfloat16", "bfloat16", "float32"))
    layouts = {name: draw(LAYOUTS) for name in "qkv"}
    values = draw(VALUES)
    if values == "needles" and ("expanded" in layouts.values() or nq < 2 or nk < 16):
        values = "normal"  # a needle is one entry of a row, among 16 or more keys
    options = {
        "b": b,
        "h": groups * share,
        "hkv": groups,
        "dtype": dtype,
        "causal": bool(draw((False, True))),
        "scale": draw((None, None, None, round(float(rng.uniform(-0.2, 0.4)), 3))),
        "by": draw(("keyword", "position")),
        "change": partial(_changed, values, dtype),
        **layouts,
    }
    name = f"random call {number}"
    if step == "flash_attention":
        return draw_case(rng, name, nq, nk, d, **options), values
    options |= {"dout": draw((*LAYOUTS, "single")), "wanted": draw(WANTED)}
    return draw_backward_case(rng, name, nq, nk, d, **options), values


def _changed(values: str, dtype: str, rng, q, k, v) -> None:
    """Edits what was drawn, and leaves numbers that the type can hold."""
    change = {
        "normal": lambda rng, q, k, v: None,
        "far above zero": shift_scores(36, 44, 1),
        "below zero": shift_scores(36, 44, -1),
        "far below zero": shift_scores(380, 440, -1),
        "needles": needles,
        "around one": around_one,
    }[values]
    change(rng, q, k, v)
    for x in (q, k, v):
        x[...] = rounded(x, dtype)


def features(case: Case, values: str) -> list[str]:
    """What a call has, for the record to count."""
    size, layouts = case.size, [x.layout for x in case.tensors]
    found = [f"D = {size['D']}", size["dtype"], f"values {values}", *sorted(set(layouts))]
    found += ["causal"] if size.get("causal") else []
    found += ["shared key heads"] if "Hkv" in size else []
    found += ["scale given"] if "scale" in size else []
    found += ["one query"] if size["Nq"] == 1 else []
    found += ["one key"] if size["Nk"] == 1 else []
    found += ["Nq or Nk no multiple of 16"] if size["Nq"] % 16 or size["Nk"] % 16 else []
    found += ["queries without keys"] if size.get("causal") and size["Nq"] > size["Nk"] else []
    return found


# --- judging ----------------------------------------------------------------------------------


def answer(step: str, case: Case, device: str) -> np.ndarray:
    """What the reference solution gives: the result, and the gradients wanted, one after the other."""
    from attention import function, on_gpu  # imports Triton, once its environment is set

    tensors = [on_gpu(x, device) for x in case.operands]
    if case.backward is None:
        parts = [function(step)(*tensors, *case.more, **case.named)]
    else:
        wanted = [x for o, x in zip(case.operands, tensors) if o.name in case.backward.wanted]
        for x in wanted:
            x.requires_grad_()
        result = function(step)(*tensors, *case.more, **case.named)
        upstream = on_gpu(case.backward.gradient, device)
        parts = [result, *torch.autograd.grad(result, wanted, upstream)]
    flat = [x.detach().cpu().double().numpy().ravel() for x in parts]
    return flat[0].reshape(case.shape) if case.backward is None else np.concatenate(flat)


def judge(step: str, seed: int, device: str, number: int) -> dict:
    """Whether one call is right, its error over the bound, and what was wrong."""
    case, values = random_case(step, seed, number)
    verdict = {"number": number, "dtype": case.size["dtype"], "features": features(case, values)}
    try:
        error = np.abs(answer(step, case, device) - case.expected)
    except Exception as raised:  # noqa: BLE001 - it belongs in the record
        return verdict | {
            "right": False,
            "raised": f"{type(raised).__name__}: {raised}",
            "size": case.size,
        }
    share = float((error / np.maximum(case.bound, 1e-300)).max(initial=0.0))
    verdict["share"] = round(share, 4) if np.isfinite(share) else None
    wrong = ~(error <= case.bound)
    verdict["right"] = not wrong.any()
    if wrong.any():
        parts = case.split(wrong) if case.backward else {"": wrong}
        verdict["size"] = case.size
        verdict["wrong"] = {
            name or "result": {
                "elements": int(part.sum()),
                "of": part.size,
                "first": [int(i[0]) for i in np.nonzero(part)],
            }
            for name, part in parts.items()
            if part.any()
        }
    return verdict


def verdicts(step: str, seed: int, device: str, count: int):
    """All verdicts of a step, in order; on a GPU from as many processes as there are cores."""
    one = partial(judge, step, seed, device)
    if device == "cpu":
        yield from map(one, range(count))
        return
    workers = ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn"))
    with workers:
        yield from workers.map(one, range(count), chunksize=4)


def counted(step: str, seed: int, device: str, count: int) -> dict:
    """The row of a step in the record. Prints how far it is."""
    found, worst, right, failing = Counter(), {}, 0, []
    for done, verdict in enumerate(verdicts(step, seed, device, count), start=1):
        found.update(verdict.pop("features"))
        right += verdict["right"]
        if not verdict["right"]:
            failing.append(verdict)
            print("WRONG:", step, verdict, flush=True)
        elif verdict["share"] >= worst.get(verdict["dtype"], {"share": 0.0})["share"]:
            worst[verdict["dtype"]] = {k: verdict[k] for k in ("share", "number")}
        if done % 20 == 0 or done == count:
            print(f"{step}: {right} of {done} right, {count - done} to go", flush=True)
    return {
        "step": step,
        "seed": seed,
        "calls": count,
        "right": right,
        "largest_share_of_bound": worst,
        "calls_with": dict(sorted(found.items())),
        "failing": failing,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT, help="calls of each step")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("attention_cases: no GPU found; --device cpu runs a few calls in the interpreter")
    # Before Triton is imported, here or in a process that this one starts.
    if options.device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
        from autograder.worker import interpreter

        interpreter.repair()  # bfloat16, as the grader does
    else:
        os.environ |= {"TRITON_F32_DEFAULT": "ieee", "OMP_NUM_THREADS": "1"}
    rows = [counted(step, options.seed, options.device, options.count) for step in STEPS]
    for row in rows:
        print(row["step"], "largest share of the bound:", row["largest_share_of_bound"])
    default = MEASUREMENTS / "13_random_cases.json" if options.device == "cuda" else None
    if options.output or default:
        write(
            options.output or default,
            rows,
            judged_by="the grader's bounds; float32 products in IEEE",
        )
    sys.exit(any(row["failing"] for row in rows))


if __name__ == "__main__":
    main()
