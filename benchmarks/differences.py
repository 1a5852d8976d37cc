"""Why a verdict on a GPU may differ from that of the interpreter: rules, asked one after the other.

For gpu_corpus.py. A rule sees two verdicts with the checks that failed, and never a file's name or
source, so that it explains a kind of difference and not a file. What no rule covers is UNEXPLAINED.
"""

from autograder.verdict import GPU_FAULTS

UNEXPLAINED = "unexplained"
WHYS = {
    "allowed": "The file's header allows both verdicts.",
    "address": "Every number is right. Only the interpreter sees that an address lies outside the "
    "tensors; the memory there is the grader's own margin, so nothing stops the GPU.",
    "race": "The interpreter watches which programs touch the same element. On the GPU the race went "
    "well this time.",
    "hint": "The interpreter compares a hint with the values. On the GPU an untrue one did no harm here.",
    "masked_lanes": "Lanes that a mask leaves out are undefined: NaN in the interpreter, to show "
    "that they are used; on this GPU they were 0.",
    "tf32": "The wrong numbers are float32, where a GPU may multiply in TF32 and the bound is wider.",
    "fault": "Both turn it away. The GPU stops a kernel that leaves its memory or asks for too much, "
    "before there are numbers.",
    "host": "A trick that needs memory which the CPU can reach. On a GPU it ends in an error, and in the "
    "interpreter its result is turned away.",
    "slow": "The interpreter takes longer over it than a case may; the GPU comes to a result.",
    "evidence": "Both turn it away. The interpreter names the mistake by the addresses it saw; on a "
    "GPU only the numbers and the margins can tell.",
    UNEXPLAINED: "No rule covers it.",
}


def why(corpus: str, gpu: dict, there: dict, ieee: bool) -> str:
    """The name of the first rule that covers the difference of two verdicts on a file.

    A verdict is one of gpu_corpus.judged: on the GPU, and `there` in the interpreter. `corpus` is the
    kind of file, and `ieee` says whether the step promises float32 accuracy, as in Task.
    """
    turned_away = gpu["status"] != "passed" and there["status"] != "passed"
    if gpu["expected"] and gpu["named"]:
        return "allowed"
    if gpu["status"] == "passed" and there["status"] == "failed":
        return _not_seen(there, ieee)
    if turned_away and _says(gpu, *(told for _, told, _ in GPU_FAULTS)):
        return "fault"
    if turned_away and corpus == "dishonest" and gpu["status"] in ("error", "crashed"):
        return "host"
    if turned_away and there["status"] == "timed_out":
        return "slow"
    if turned_away and gpu["status"] == there["status"] and _says(there, *SEEN):
        return "evidence"
    return UNEXPLAINED


# How a message begins, or what it holds, that tells of a single access.
ADDRESS, RACE, HINT = "Out-of-bounds", "in an order that a GPU does not promise", "The hint `tl."
SEEN = (ADDRESS, RACE, HINT)


def _not_seen(there: dict, ieee: bool) -> str:
    """Why the GPU passes what the interpreter fails."""
    failed = there["failed"]
    if there["cause"] == "race" or all(RACE in check["message"] for check in failed):
        return "race"
    if all(check["kind"] == "memory" and ADDRESS in check["message"] for check in failed):
        return "address"
    if all(HINT in check["message"] for check in failed):
        return "hint"
    if there["cause"] == "masked_other_wrong":
        return "masked_lanes"
    in_float32 = all(c["kind"] == "correctness" and c["dtype"] == "float32" for c in failed)
    if in_float32 and not ieee:
        return "tf32"
    return UNEXPLAINED


def _says(verdict: dict, *words: str) -> bool:
    """Whether the message of some failed check holds one of these texts."""
    return any(w in check["message"] for check in verdict["failed"] for w in words)
