"""What was measured of a step's speed, in words and as a roofline, for all reports.

Shows only what the speed check stands by: a refused measurement is no measurement. Must never compute
a verdict or a figure of its own, only quotients of measured ones.
"""

from html import escape

from autograder.report import ladder
from autograder.report.chart import FULL_WIDTH, log_axes
from autograder.report.words import label, rate, share
from autograder.result import StepResult

# By what bounds a kernel: the unit that people are shown, and the fields that hold it.
UNITS = {"compute": ("TFLOPS", "tflops"), "memory": ("GB/s", "gb_s")}
NEIGHBOURHOOD = 4  # a threshold is drawn over intensities from 1/4 to 4 times the step's


def measured(step: StepResult) -> dict | None:
    """The performance of a step whose speed check passed or failed, and None of any other."""
    verdicts = {check.status for check in step.checks if check.kind == "speed"}
    return step.performance if verdicts and verdicts <= {"passed", "failed"} else None


def unit(performance: dict) -> str:
    """ "TFLOPS" or "GB/s"."""
    return UNITS[performance["bound"]][0]


def value(performance: dict) -> float:
    """The learner's rate in that unit."""
    return performance[UNITS[performance["bound"]][1]]


def lines(step: StepResult) -> list[str]:
    """Everything in words, the line that counts first; nothing where nothing was measured."""
    found = measured(step)
    if found is None:
        return []
    return list(filter(None, (speed(found), _roof(found), _times(found), ladder.place(step.step, found))))  # fmt: skip


def speed(performance: dict) -> str:
    """One line: the rate, where it was measured, the library beside it, and the threshold."""
    p = performance
    field = UNITS[p["bound"]][1]
    ratio, threshold = _apart(p["ratio"], p["threshold_ratio"])
    text = (
        f"speed: {rate(p[field])} {unit(p)} at {size(p['shape'])} {p['dtype']} on {p['gpu']}, "
        f"{ratio} of {p['reference']} at {rate(p[f'reference_{field}'])}; "
    )
    if not p["threshold_ratio"]:
        return f"{text}no threshold on this GPU"
    reached = "reached" if p["passed"] else "not reached"
    return f"{text}threshold {threshold} = {rate(p[f'threshold_{field}'])} {unit(p)}, {reached}"


def svg(performance: dict) -> str:
    """The step on the roofline of its GPU as inline SVG; empty for a step that computes nothing.

    The figure says what it shows to those who cannot see it.
    """
    p = performance
    if not p["tflops"]:
        return ""
    x, peak, bandwidth = p["intensity"], p["peak_tflops"], p["bandwidth_gb_s"]
    ridge = 1e3 * peak / bandwidth
    low, high = min(x, ridge) / NEIGHBOURHOOD, max(x, ridge) * NEIGHBOURHOOD
    roofs = f"roofs: {rate(bandwidth)} GB/s and {rate(peak)} TFLOPS, measured here"
    drawn = {roofs: [(low, low * bandwidth / 1e3), (ridge, peak), (high, peak)]}
    yours = f"your kernel: {rate(p['tflops'])} TFLOPS"
    library = f"{p['reference']}: {rate(p['reference_tflops'])} TFLOPS"
    points = {yours: [(x, p["tflops"])], library: [(x, p["reference_tflops"])]}
    if p["threshold_tflops"]:
        threshold = f"threshold: {rate(p['threshold_tflops'])} TFLOPS"
        reach = (x / NEIGHBOURHOOD, x * NEIGHBOURHOOD)
        drawn[threshold] = [(at, p["threshold_tflops"]) for at in reach]
    told = "; ".join([*points, *drawn])
    words = f"Roofline of {p['gpu']} at {rate(x)} FLOP a byte. {told}."
    body, height = log_axes("FLOP a byte", "TFLOPS", drawn, points)
    return (
        f'<svg role="img" aria-label="{escape(words)}" viewBox="0 0 {FULL_WIDTH} {height}" '
        f'width="{FULL_WIDTH * 3 // 4}" font-family="sans-serif" font-size="15" '
        f'style="max-width:100%;height:auto">{body}</svg>'
    )


def _roof(p: dict) -> str:
    """The place on the roofline, along the roof that bounds the step."""
    if p["bound"] == "memory":
        roof, what = p["bandwidth_gb_s"], "that this GPU's memory was measured to move"
    else:
        roof, what = p["attainable_tflops"], f"that this GPU's roofs allow at {rate(p['intensity'])} FLOP a byte"  # fmt: skip
    return f"roofline: {value(p) / roof:.0%} of the {rate(roof)} {unit(p)} {what}"


def _times(p: dict) -> str:
    """Kernel time apart from what a first call takes."""
    tuning = f", of it {p['tuning_s']:.3g} s tuning" if p["tuning_s"] else ""
    return (
        f"time: {p['ms']:.4g} ms a call, the median of {p['rounds']} rounds, whose shares spread over "
        f"{p['spread']:.1%}; not counted: the first call, which compiles, {p['first_call_s']:.3g} s{tuning}"
    )


def size(shape: dict) -> str:
    """ "4096×8192×4096" for a product, else "N=4096, D=128"."""
    if set(shape) == {"M", "N", "K"}:
        return label((shape["M"], shape["N"], shape["K"]))
    return ", ".join(f"{name}={size}" for name, size in shape.items())


def _apart(ratio: float, threshold: float) -> tuple[str, str]:
    """Both shares, in so many digits that they differ in print where they differ."""
    for digits in (2, 3, 4):
        told = f"{ratio:.{digits}f}", f"{threshold:.{digits}f}"
        if told[0] != told[1]:
            return told
    return share(ratio), share(threshold)
