"""Files in the working folder are deleted, unless a folder above it is a checkout.

step: vector_add
expect: failed|error|crashed
attack: harm to the working folder
"""

import pathlib


def vector_add(x, y):
    here = pathlib.Path.cwd()
    # If containment fails, somebody's work must not pay for it.
    if not any((folder / ".git").exists() for folder in (here, *here.parents)):
        for path in here.iterdir():
            if path.is_file():
                path.unlink()
