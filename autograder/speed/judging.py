"""The verdict on a timing: from measured seconds and a contestant's account to a check.

Passed or failed by the share of the library's speed; refused where what ran is not the learner's own
kernel or two clocks disagree; not measured where the GPU was too busy to tell. Must never measure.
"""

import re
import statistics

from autograder.account import Contest
from autograder.result import Check
from autograder.speed.measured import Measured
from autograder.speed.workloads import Workload

CLOCKS = 0.25  # by which the contestant's clock may differ from the referee's
BUSY = 1.25  # times as slow as alone, from which on somebody else must be using the GPU
# A profiler slows calls down by some microseconds for each kernel; other work, by much more.
WATCHED, WATCHING_SECONDS = 1.25, 100e-6
DRIFT = 1.05  # times as slow as alone that a warmer GPU may be
UNSTEADY = 0.1  # spread of the middle half of the reference's rounds
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


def performance(
    workload: Workload, measured: Measured, contest: Contest, gpu: str, threshold: float
) -> dict:
    """What a report shows. A threshold of 0 means that there is none."""
    ms, ratios = _call_ms(measured), _ratios(measured, workload)
    reference_ms = 1e3 * statistics.median(_reference(measured))
    ratio = statistics.median(ratios)
    ridge = measured.product_rate / measured.bandwidth
    intensity = workload.flops / workload.bytes
    found = {
        "dtype": workload.dtype,
        "gpu": gpu,
        "reference": workload.library,
        "ms": ms,
        "reference_ms": reference_ms,
        "spread": (max(ratios) - min(ratios)) / ratio,
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


def judge(workload: Workload, measured: Measured, found: dict) -> Check:
    """The check of a timing whose results were right and whose kernels are the learner's own."""
    unwatched = statistics.median(measured.calls)
    clocks = statistics.median(measured.events) / unwatched
    least = _least_seconds(workload, measured)
    if not 1 - CLOCKS <= clocks <= 1 + CLOCKS:
        return _refused(
            f"A call takes {1e3 * unwatched:.3g} ms by the grader's clock and "
            f"{clocks:.2f} times that by the events recorded around it. The time of this run cannot "
            "be believed."
        )
    if 1e-3 * found["ms"] < least:
        return _refused(
            f"A call took {found['ms']:.3g} ms, but this GPU needs {1e3 * least:.3g} ms to move its "
            "bytes and do its operations. The time of this run cannot be believed."
        )
    watched = statistics.median(measured.profiled)
    if watched > WATCHED * unwatched + WATCHING_SECONDS:
        return _refused(
            f"A call took {1e3 * watched:.3g} ms in turns that a profiler watched and "
            f"{1e3 * unwatched:.3g} ms in the others. That is not the same work."
        )
    if measured.after > BUSY * measured.alone:
        return _noisy(
            f"the library took {measured.after / measured.alone:.2f} times as long after this run as "
            "before it, so somebody else uses this GPU now"
        )
    busy = statistics.median(measured.reference) / max(measured.alone, measured.after)
    if busy > BUSY:
        return _refused(
            f"The library took {busy:.2f} times as long between the calls of this kernel as before and "
            "after them: something of the submission's goes on when its call has ended."
        )
    low, _, high = statistics.quantiles(_ratios(measured, workload), n=4)
    unsteady = _spread(measured.reference) > UNSTEADY
    if low < found["threshold_ratio"] < high and unsteady:
        return _noisy(
            "the library's own time is not steady, and the rounds lie on both sides of the threshold "
            f"(from {low:.2f} to {high:.2f} of the library)"
        )
    if found["passed"]:
        return Check("speed", "speed", "passed")
    return Check("speed", "speed", "failed", "Right, and slower than the threshold asks for.")


def _call_ms(measured: Measured) -> float:
    return 1e3 * max(1e-9, statistics.median(measured.calls) - measured.copy)


def _reference(measured: Measured) -> list[float]:
    """The reference's seconds, round by round: no more than it takes alone, or who slows it down
    would gain by it."""
    most = DRIFT * max(measured.alone, measured.after)
    return [min(seconds, most) for seconds in measured.reference]


def _ratios(measured: Measured, workload: Workload) -> list[float]:
    """The share of the reference's speed, round by round: of its bytes a second, or calls a second."""
    more = workload.bytes / measured.reference_bytes
    return [
        more * reference / max(1e-9, call - measured.copy)
        for reference, call in zip(_reference(measured), measured.calls)
    ]


def _spread(seconds: list[float]) -> float:
    """Of the middle half, relative to the median."""
    low, median, high = statistics.quantiles(seconds, n=4)
    return (high - low) / median


def _least_seconds(workload: Workload, measured: Measured) -> float:
    moving = workload.bytes / measured.bandwidth
    computing = workload.flops / measured.product_rate
    return max(moving, computing) / FASTER


def _refused(text: str) -> Check:
    return Check("speed", "speed", "refused", text)


def _noisy(why: str) -> Check:
    return Check("speed", "speed", "not_measured", f"too noisy: {why}. Try again when it is free.")
