"""Compiles many variants of kernels at once, so that GPU time is spent on measuring.

The results lie in Triton's cache, where the first launch finds them. Needs an NVIDIA GPU. Must
never time anything, and never fail: what does not compile here is met again by who launches it.
"""

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

import torch
from triton.runtime import JITFunction

from autograder.bench import reference
from autograder.bench.kernels import BODY, kernels
from autograder.bench.plan import BLOCKWISE, GROUPED, LIBRARY, NAIVE, SOURCE, Part
from autograder.bench.shapes import Shape
from autograder.bench.source_configs import SOURCE_CONFIGS, SOURCE_FIXED, options

TUNED = ("autotuned_matmul", "autotuned_matmul_kernel")


def _compile(step: str, name: str, arguments: tuple, constants: dict) -> None:
    kernel = reference.kernel(step, name)
    while not isinstance(kernel, JITFunction):  # a tuner, or heuristics, around it
        kernel = kernel.fn
    arguments = [getattr(torch, a) if isinstance(a, str) else a for a in arguments]
    kernel.warmup(*arguments, grid=(1,), **constants)


def _call(name: str, shape: Shape, dtype: str) -> None:
    """Compiles what a function launches for a shape: it chooses a tile by itself."""
    M, N, K = shape
    a = torch.empty(M, K, device="cuda", dtype=getattr(torch, dtype))
    kernels()[0][name](a, torch.empty(K, N, device="cuda", dtype=a.dtype))
    torch.cuda.synchronize()


def _try(job: tuple) -> None:
    function, *arguments = job
    try:
        function(*arguments)
    except Exception:  # noqa: BLE001, S110 - the launch meets it again, and says so
        pass


def _run(jobs: list[tuple], done: Callable[[int, int], None] = lambda count, of: None) -> None:
    """Each job in a process of its own kind, as many at once as there are cores."""
    if not jobs:
        return
    workers = min(len(jobs), len(os.sched_getaffinity(0)))
    spawn = multiprocessing.get_context("spawn")
    done(0, len(jobs))
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        try:
            for count, _ in enumerate(as_completed([pool.submit(_try, j) for j in jobs]), 1):
                done(count, len(jobs))
        except BrokenProcessPool:  # killed for memory, perhaps; the first calls compile then
            return


def compile_all(step: str, name: str, jobs: list[tuple[tuple, dict]]) -> None:
    """Compiles a reference kernel for each (arguments, constexprs and options).

    A tensor argument is the name of its dtype; it stands for one that is aligned to 16 bytes.
    """
    _run([(_compile, step, name, *job) for job in jobs])


def compile_parts(
    parts: list[Part], done: Callable[[int, int], None] = lambda count, of: None
) -> None:
    """Compiles all kernels of a table; `done` is told how many of how many jobs are finished."""
    _run(jobs_of(parts), done)


def jobs_of(parts: list[Part]) -> list[tuple]:
    """The jobs of a table, each once.

    Triton compiles a kernel anew for sizes that are no multiples of 16, so the kernels with fixed
    tiles and the tuned ones need one shape of each kind; `persistent_matmul` chooses by the shape.
    """
    jobs, kinds = [], set()
    for part in parts:
        dtype, shape = part.precision.dtype, part.shape
        kind = tuple(size % 16 == 0 for size in shape)
        for name in part.kernels:
            if name in (LIBRARY, NAIVE):
                continue
            if name == "persistent_matmul":
                jobs.append((_call, name, shape, dtype))
            elif (name, dtype, kind) not in kinds:
                kinds.add((name, dtype, kind))
                variants = _variants(name, shape, dtype, whole=all(kind))
                # The published fixed tile is one of the published configs, too.
                jobs += [job for job in variants if job not in jobs]
    return jobs


def _variants(name: str, shape: Shape, dtype: str, whole: bool) -> list[tuple]:
    M, N, K = shape
    arguments = (*(dtype,) * 3, M, N, K, K, 1, N, 1)
    if name == SOURCE:
        return [(_compile, *BODY, arguments, options(c)) for c in SOURCE_CONFIGS]
    if name in (BLOCKWISE, GROUPED):
        group = 1 if name == BLOCKWISE else 8
        return [(_compile, *BODY, arguments, options(SOURCE_FIXED, group))]
    if name == TUNED[0]:
        tuned = reference.kernel(TUNED[0], "tuned_kernel")().configs
        return [
            (_compile, *TUNED, arguments, {**config.all_kwargs(), "EVEN": even})
            for config in tuned
            for even in (True, False)
            if whole or not even
        ]
    return [(_call, name, shape, dtype)]
