"""The verdict on a timing: from measured seconds and a contestant's account to a check.

Passed or failed by the share of the library's speed; refused where what ran is not the learner's own
kernel or two clocks disagree; not measured where the GPU was too busy to tell. Must never measure.
"""

import re
import statistics

from autograder.account import Contest
from autograder.result import Check
from autograder.speed.workloads import Workload

CLOCKS = 0.25  # by which the contestant's clock may differ from the referee's
BUSY = 1.25  # times as slow as alone, from which on somebody else must be using the GPU
UNSTEADY = 0.2  # spread of the middle half of the rounds, around a threshold that lies in it
FASTER = 1.5  # than memory or tensor cores were measured: caches keep part of what was just written
# Kernels of PyTorch's that only move memory, as the GPU's profiler names them.
ORDINARY = re.compile(r"^Mem(cpy|set) |FillFunctor|copy_kernel|CatArray")
SUMS = re.compile(r"at::native::reduce_kernel<.*sum", re.IGNORECASE)


def foreign_kernel(contest: Contest, allowed: frozenset[str]) -> str:
    """A kernel that ran in a timed call and is not the submission's own; empty if there is none."""
    for name in contest.kernels:
        own = name in contest.launched or ORDINARY.search(name)
        if not own and not ("sum" in allowed and SUMS.search(name)):
            return name
    return ""


def performance(workload: Workload, measured, contest: Contest, gpu: str, threshold: float) -> dict:
    """What a report shows. `measured` is referee.Measured; a threshold of 0 means that there is none."""
    ms, ratios = _call_ms(measured), _ratios(measured, workload)
    reference_ms = 1e3 * statistics.median(measured.reference)
    ratio = statistics.median(ratios)
    ridge = measured.product_rate / measured.bandwidth
    intensity = workload.flops / workload.bytes
    found = {
        "dtype": workload.dtype,
        "gpu": gpu,
        "reference": workload.library,
        "ms": ms,
        "reference_ms": reference_ms,
        "spread": (max(ratios) - min(ratios)) / statistics.median(ratios),
        "rounds": len(ratios),
        "bound": "compute" if intensity > ridge else "memory",
        "ratio": ratio,
        "threshold_ratio": threshold,
        "intensity": intensity,
        "peak_tflops": measured.product_rate / 1e12,
        "bandwidth_gb_s": measured.bandwidth / 1e9,
        "attainable_tflops": min(measured.product_rate, intensity * measured.bandwidth) / 1e12,
        "first_call_s": measured.first_call_s,
        "tuning_s": min(contest.tuning_s, measured.first_call_s),
    }
    for unit, amount in (("tflops", workload.flops / 1e9), ("gb_s", workload.bytes / 1e6)):
        found[unit] = amount / ms
        found[f"reference_{unit}"] = amount / ms / ratio
        found[f"threshold_{unit}"] = threshold * amount / ms / ratio
    rounded = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in found.items()}
    return {"shape": workload.shape, **rounded, "passed": ratio >= threshold}


def judge(workload: Workload, measured, found: dict) -> Check:
    """The check of a timing whose results were right and whose kernels are the learner's own."""
    busy = statistics.median(measured.reference) / measured.alone
    clocks = statistics.median(measured.events) / statistics.median(measured.calls)
    least = _least_seconds(workload, measured)
    shown = in_words(found)
    if not 1 - CLOCKS <= clocks <= 1 + CLOCKS:
        return _refused(
            f"A call takes {found['ms'] + 1e3 * measured.copy:.3g} ms by the grader's clock, copy of "
            f"the result included, and {clocks:.2f} times that by the events recorded around it. The "
            "time of this run cannot be believed."
        )
    if 1e-3 * found["ms"] < least:
        return _refused(
            f"A call took {found['ms']:.3g} ms, but this GPU needs {1e3 * least:.3g} ms to move its "
            "bytes and do its operations. The time of this run cannot be believed."
        )
    if busy > BUSY:
        return _unsteady(
            f"too noisy: the library took {busy:.2f} times as long beside this kernel as alone, so "
            "somebody else uses this GPU, or the kernel goes on after its call. Try again when it is "
            f"free. {shown}"
        )
    low, _, high = statistics.quantiles(_ratios(measured, workload), n=4)
    threshold = found["threshold_ratio"]
    if low < threshold < high and (high - low) / threshold > UNSTEADY:
        return _unsteady(
            f"too noisy: the rounds lie between {low:.2f} and {high:.2f} of the library, on both sides "
            f"of the threshold; the GPU's clock is not steady. Try again. {shown}"
        )
    if not threshold:
        return Check("speed", "speed", "passed", f"{shown} There is no threshold on this GPU.")
    return Check("speed", "speed", "passed" if found["passed"] else "failed", shown)


def in_words(found: dict) -> str:
    """What was measured, in one or two sentences."""
    unit, name = ("tflops", "TFLOPS") if found["bound"] == "compute" else ("gb_s", "GB/s")
    size = ", ".join(f"{name}={n}" for name, n in found["shape"].items())
    text = (
        f"{found[unit]:.4g} {name} at {size} in {found['dtype']}, {found['ratio']:.2f} of "
        f"{found['reference']} at {found[f'reference_{unit}']:.4g} on this {found['gpu']}."
    )
    if found["threshold_ratio"]:
        needed = found[f"threshold_{unit}"]
        text += f" The threshold is {found['threshold_ratio']:.2f}, here {needed:.4g} {name}."
    return text


def _call_ms(measured) -> float:
    return 1e3 * max(1e-9, statistics.median(measured.calls) - measured.copy)


def _ratios(measured, workload: Workload) -> list[float]:
    """The share of the reference's speed, round by round: of its bytes a second, or calls a second."""
    more = workload.bytes / measured.reference_bytes
    return [
        more * reference / max(1e-9, call - measured.copy)
        for reference, call in zip(measured.reference, measured.calls)
    ]


def _least_seconds(workload: Workload, measured) -> float:
    moving = workload.bytes / measured.bandwidth
    computing = workload.flops / measured.product_rate
    return max(moving, computing) / FASTER


def _refused(text: str) -> Check:
    return Check("speed", "speed", "refused", text)


def _unsteady(text: str) -> Check:
    return Check("speed", "speed", "not_measured", text)
