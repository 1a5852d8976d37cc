"""Triton's interpreter, repaired: what it gets wrong and a GPU gets right.

Tried on Triton 3.6.0, 3.7.1, 3.8.0 and 3.9.0 with NumPy 2.4.6; bfloat16 has a module of its own.
Must never change what a kernel computes on a GPU.
"""

import dataclasses
import functools
import inspect

import numpy as np
import triton
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

from autograder.worker import bfloat16, quicker, rewriting


def repair() -> bool:
    """Repairs the interpreter of this process, once. Returns whether bfloat16 values are right."""
    _no_overflow_checks()
    _language_patched_once()
    _source_read_once()
    _index_of_one_element()
    rewriting.install()
    quicker.install()
    bfloat16.install()
    return bfloat16.works()


def _no_overflow_checks() -> None:
    """They take half the time, and nobody reads their result."""
    builder = triton_interpreter.interpreter_builder
    builder.options = dataclasses.replace(builder.options, sanitize_overflow=False)


def _language_patched_once() -> None:
    """Each call of a helper, `tl.zeros` too, patches the whole language again: a third of the time.

    A launch has patched it already, but perhaps not the module that the helper knows it by.
    """
    patch = triton_interpreter._patch_lang

    @functools.cache
    def known_by(function):
        return [m for m in function.__globals__.values() if m is tl or m is tl.core]

    def _patch_lang(function):
        known = known_by(function)
        if known and not any(tl.core.is_builtin(module.load) for module in known):
            return triton_interpreter._LangPatchScope()
        return patch(function)

    triton_interpreter._patch_lang = _patch_lang


def _source_read_once() -> None:
    """Triton splits the source of each kernel into tokens three times."""
    inspect.getsourcelines = functools.cache(inspect.getsourcelines)


def _index_of_one_element() -> None:
    """Triton 3.6 turns an array of one element into an int, which NumPy 2.4 no longer does."""
    patch = triton_interpreter._patch_lang_tensor

    def _patch_lang_tensor(tensor, scope):
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    triton_interpreter._patch_lang_tensor = _patch_lang_tensor


@triton.jit
def _warm_kernel(x_ptr, n, BLOCK: tl.constexpr):
    """Calls the language's own helpers: each is rewritten for the interpreter at its first call."""
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    x += tl.zeros((BLOCK,), tl.float32) + tl.sum(x) + tl.max(x) + tl.min(x) + tl.cdiv(n, BLOCK)
    tl.store(x_ptr + offsets, tl.sigmoid(x), mask=offsets < n)


def warm_up() -> None:
    """One small launch, so that every fork starts with the interpreter already patched."""
    import torch

    _warm_kernel[(1,)](torch.zeros(8), 8, BLOCK=8)
    np.random.default_rng(0)  # NumPy loads it when first asked: the shuffled order does
