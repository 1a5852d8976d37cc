"""Compiles many variants of a kernel at once, so that a script's GPU time is spent on measuring.

The results lie in Triton's cache, where the first launch finds them. Needs an NVIDIA GPU. Must
never launch a kernel.
"""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import torch
from triton.runtime import JITFunction


def _compile(job) -> None:
    import reference

    step, name, arguments, constants = job
    kernel = reference.kernel(step, name)
    while not isinstance(kernel, JITFunction):  # a tuner, or heuristics, around it
        kernel = kernel.fn
    arguments = [getattr(torch, a) if isinstance(a, str) else a for a in arguments]
    try:
        kernel.warmup(*arguments, grid=(1,), **constants)
    except Exception as error:  # noqa: BLE001 - the script that launches it meets it again
        print(f"compiling: {constants}: {type(error).__name__}", flush=True)


def compile_all(step: str, name: str, jobs: list[tuple[tuple, dict]]) -> None:
    """Compiles a reference kernel for each (arguments, constexprs and options).

    A tensor argument is the name of its dtype; it stands for one that is aligned to 16 bytes.
    """
    workers = min(len(jobs), len(os.sched_getaffinity(0)))
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        list(pool.map(_compile, [(step, name, *job) for job in jobs]))
