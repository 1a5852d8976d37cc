"""An exception as plain values: its type, its text, and the learner's line that raised it.

Must never raise, whatever a submission put into the exception.
"""

import traceback
from pathlib import Path


def describe_error(error: BaseException, folder: Path) -> dict:
    """The innermost error and the learner's frame that raised it."""
    chain = [error]
    while chain[-1].__cause__ is not None:  # Triton wraps what a kernel raises
        chain.append(chain[-1].__cause__)
    place = {"file": None, "line": None}
    for link in chain:
        for frame in traceback.extract_tb(link.__traceback__):
            if frame.filename.startswith(str(folder)):
                place = {"file": frame.filename, "line": frame.lineno}
    if isinstance(chain[-1], SyntaxError) and str(chain[-1].filename).startswith(str(folder)):
        place = {"file": chain[-1].filename, "line": chain[-1].lineno}
    root = chain[-1]
    try:
        message = str(root)
    except Exception:  # noqa: BLE001 - a submission may raise an object whose text raises
        message = ""
    return {
        "type": type(root).__name__,
        "message": message[:2000],
        "not_implemented": any(_not_written(link, folder) for link in chain),
        **place,
    }


def _not_written(error: BaseException, folder: Path) -> bool:
    """Whether the submission says that it is not written. What Triton or torch lack is an error."""
    frames = traceback.extract_tb(error.__traceback__)
    own = bool(frames) and frames[-1].filename.startswith(str(folder))
    return own and isinstance(error, NotImplementedError)
