"""What every run on a GPU needs of Triton, made once before a zygote forks its runs.

Triton talks to the driver through a small C library, which it compiles on first use and keeps in its
cache. A run has an empty cache of its own, so each would start a C compiler, and load Triton's compiler
as well: over a second of CPU time for each case. Must never start a context on the GPU, for a process
that has one cannot fork, and must never be what keeps a zygote from starting.
"""

import contextlib
import os

from triton.runtime import driver

from autograder.worker import compiler


def warm_up() -> None:
    """Once, in a process that has run no kernel. What fails here fails again in a run, which tells."""
    from autograder.worker import contest  # noqa: F401 - what a timed run needs, loaded for all

    with contextlib.suppress(Exception):
        _keep_library()
    compiler.warm_up()
    del os.environ["TRITON_CACHE_DIR"]
    driver.set_active(None)  # a run finds the GPU's own


def _keep_library() -> None:
    """Builds and loads the library, and hands the same one to whoever asks for it again."""
    from triton.backends.nvidia import driver as nvidia

    build, made = nvidia.compile_module_from_src, {}

    def once(src, name, **options):
        if (src, name) not in made:
            made[src, name] = build(src=src, name=name, **options)
        return made[src, name]

    nvidia.compile_module_from_src = once
    nvidia.CudaUtils()
