"""Writes files whole or not at all. Must never leave half a file, or touch one that it replaces
before the new one is complete.
"""

import os
import secrets
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Puts `data` at `path`: whoever reads it, even after a kill, meets the old file or the new one.

    A symbolic link stays, and the file that it points to is replaced. Who may read and write a file
    stays as it was. Raises OSError, and then leaves everything as it was.
    """
    path = path.resolve()
    new = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with open(new, "xb") as file:
            if path.exists():
                os.fchmod(file.fileno(), path.stat().st_mode & 0o777)  # marks may be for one reader
            file.write(data)
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
