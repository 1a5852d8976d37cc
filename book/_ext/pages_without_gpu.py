"""Sphinx extension: the cells of every page run as on a machine without a GPU.

The printed outputs are then the same wherever the book is built. Notebook kernels inherit the
environment of the build, so setting it here is enough; it must happen before the first page runs.
"""

import os

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    # Tiles are small: more threads for one NumPy product only cost time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
