"""A grading made by hand: each way a step can end, and text that tries to break out of a report."""

from autograder.result import Check, ErrorMap, Grading, Hint, StepResult, SubmissionResult

# What a learner may put into a path, a message or a print, against each kind of report.
HOSTILE = "<script>alert(1)</script>\"'&]]>|*`\x00\x1b[31m\x1b\ud800%\n::error::fake\r\n# h"

ENVIRONMENT = {"device": "cpu (interpreter)", "torch": "2.13.0", "python": "3.11.7"}
SPEED = Check("speed", "speed", "not_measured", "speed needs a GPU; it is not measured")


def hint(cause: str, seen: str = "", where: str = "", advice: str = "Do this.") -> Hint:
    text = " ".join(filter(None, (seen, where, advice)))
    read = "book/06_triton_matmul.md#ch6-masks"
    return Hint(cause, text, read, [seen, where, f"{advice} Read `{read}`."])


def passing() -> StepResult:
    checks = [Check("whole tiles", "correctness", "passed", case={"M": 64}), SPEED]
    return StepResult("triton_matmul", 10, 1.25, checks)


def wrong() -> StepResult:
    share = [[0.0, 0.0, 0.5], [1.0, 0.0, 0.25]]
    checks = [
        Check("whole tiles", "correctness", "passed", case={"M": 64, "dtype": "float16"}),
        Check(
            "ragged K",
            "correctness",
            "failed",
            "3 of 24 elements are wrong. Read at line 12: `a = tl.load(p)`.",
            {"M": 8, "K": 12, "dtype": "float16"},
            ErrorMap(8, 12, 4, share),
            "k = 3\n",
            "line 12",
        ),
        Check("one row", "memory", "failed", "out of bounds", {"M": 1}, place="line 12"),
    ]
    level = hint("k_tail_unmasked", "Right except when K is ragged.", "Look at line 12.", "Mask.")
    return StepResult("triton_matmul", 10, 2.5, checks, level, ["Defined 2 times."])


def ended(status: str, cause: str, message: str, place: str = "") -> StepResult:
    check = Check("whole tiles", "correctness", status, message, {"N": 4096}, place=place)
    return StepResult("vector_add", 4, 0.5, [check, SPEED], hint(cause, where=f"Look at {place}."))


def hostile() -> StepResult:
    check = Check(HOSTILE, "correctness", "error", HOSTILE, {"N": HOSTILE}, printed=HOSTILE)
    return StepResult("vector_add", 4, 0.5, [check], hint("crashed", HOSTILE, HOSTILE), [HOSTILE])


def grading() -> Grading:
    """One submission for each way a step can end; the first has two steps."""
    refused = ended("refused", "library_call", "made by torch.add at line 9", "line 9")
    crashed = ended("crashed", "crashed", "crashed the process: segmentation fault")
    timed_out = ended("timed_out", "timed_out", "still running after 10 s", "cell 4, line 2")
    unwritten = ended("error", "not_implemented", "not written yet (cell 3, line 7)", "cell 3, line 7")  # fmt: skip
    return Grading(
        1234,
        ENVIRONMENT,
        [
            SubmissionResult("class/anna/mine.py", [wrong(), refused]),
            SubmissionResult("class/ben/first kernels.ipynb", [crashed]),
            SubmissionResult("class/cleo/first_kernels.ipynb", [timed_out]),
            SubmissionResult("class/dan/first_kernels.ipynb", [unwritten]),
            SubmissionResult("class/eva/mine.py", [passing()]),
            SubmissionResult(f"class/{HOSTILE}.py", [hostile()]),
        ],
    )


def alone(step: StepResult, path: str = "mine.py") -> Grading:
    return Grading(1234, ENVIRONMENT, [SubmissionResult(path, [step])])


def performance(**other) -> dict:
    """What a timed product reports, with some fields changed."""
    return {
        "shape": {"M": 4096, "N": 8192, "K": 4096},
        "dtype": "float16",
        "gpu": "NVIDIA H200",
        "reference": "torch.matmul (cuBLAS)",
        "ms": 0.6672,
        "reference_ms": 0.4197,
        "spread": 0.0123,
        "bound": "compute",
        "tflops": 412.0,
        "reference_tflops": 655.0,
        "threshold_tflops": 262.0,
        "gb_s": 251.5,
        "reference_gb_s": 399.8,
        "threshold_gb_s": 159.9,
        "ratio": 0.629,
        "threshold_ratio": 0.4,
        "passed": True,
        "intensity": 1638.0,
        "peak_tflops": 790.0,
        "bandwidth_gb_s": 4010.0,
        "attainable_tflops": 790.0,
        "first_call_s": 3.1,
        "tuning_s": 0,
        "rounds": 7,
        **other,
    }


# A transpose moves bytes and computes nothing.
MOVING = {
    "shape": {"M": 16384, "N": 8192},
    "dtype": "float32",
    "reference": "a copy (torch.clone)",
    "bound": "memory",
    "tflops": 0.0,
    "reference_tflops": 0.0,
    "threshold_tflops": 0.0,
    "gb_s": 3012.0,
    "reference_gb_s": 3648.0,
    "threshold_gb_s": 2189.0,
    "ratio": 0.8257,
    "threshold_ratio": 0.6,
    "intensity": 0.0,
    "attainable_tflops": 0.0,
}


def timed(
    status: str = "passed", step: str = "triton_matmul", message: str = "", **other
) -> StepResult:
    """A right kernel whose speed check ended so; `other` are fields of its performance."""
    checks = [
        Check("whole tiles", "correctness", "passed", case={"M": 64}),
        Check("speed", "speed", status, message),
    ]
    told = performance(**({"passed": status == "passed"} | other))
    return StepResult(step, 10, 1.25, checks, performance=told)
