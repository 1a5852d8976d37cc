"""The worker's shortcuts give what the long way gives: kernels, types, addresses, processes."""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import psutil
import pytest
import torch

from autograder import course
from autograder.worker import system
from autograder.worker.address_check import _View

# Not with the kernels: Python calls what was imported in the same piece of code by other instructions.
IMPORTS = """\
import triton
import triton.language as tl
"""
CELL = """\
@triton.jit
def helper(x, y,
           N: tl.constexpr):
    z = x * y + tl.sum(
        x, axis=0
    )
    return z

# A comment between.

@triton.heuristics({"EVEN":
                    lambda args: True})
@triton.jit
def kernel(x_ptr, n, N: tl.constexpr, EVEN: tl.constexpr):
    '''A docstring
    of two lines.'''
    a = tl.arange(0, N)
    for i in range(n):
        if EVEN:
            x = tl.load(x_ptr + a)
        else:
            x = tl.load(x_ptr + a,
                        mask=a < n)
        x += 1
        tl.store(x_ptr + a, helper(x, x, N))

def function():
    return helper, kernel
"""

# Prints what Triton's own way gives, and what the shortcut does.
PROGRAM = """
import json, sys, tempfile, types
from pathlib import Path
import triton.language as tl
from triton.runtime import interpreter
from autograder.worker import loader, quicker, rewriting

def load():
    cells = [
        {"filename": "first.py", "source": IMPORTS, "statements": [0, 1]},
        {"filename": "second.py", "source": CELL, "statements": [0, 1, 2]},
    ]
    return loader.load({"cells": cells, "function": "function"}, folder)

def told(code):
    inner = [told(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    places = list(code.co_positions())[1:]  # the entry lies at the decorator or at the def: no matter
    return [code.co_name, code.co_code.hex(), places, inner]

def rewritten():
    helper, kernel = load()()
    return [told(f.rewriter.rewrite_ast().__code__) for f in (helper, kernel.fn)]

SCALARS = [tl.int1, tl.int32, tl.uint64, tl.float16, tl.bfloat16, tl.float32]
TYPES = SCALARS + [tl.pointer_type(tl.float16), tl.pointer_type(tl.float16, const=True)]
SHAPES = [[1], [16], [16, 32], [32, 16], [tl.constexpr(16), 32], tl.tuple([16, 32])]

def described(value):
    return [type(value).__name__, str(value)]

def typed():
    found = []
    for element, shape in [(e, s) for e in TYPES for s in SHAPES] * 2:
        kind = tl.block_type(element, shape)
        tensor = tl.tensor("handle", kind)
        parts = (kind.shape, kind.numel, kind.name, tensor.shape, tensor.numel, tensor.handle)
        assert kind.element_ty is element and tensor.type is kind and tensor.dtype is element
        found.append([described(part) for part in parts])
        found.append(str(interpreter._get_np_dtype(kind)))
    for kind in TYPES * 2:
        scalar = tl.tensor("handle", kind)
        found.append([described(scalar.shape), described(scalar.numel), str(scalar.dtype)])
        found.append(str(interpreter._get_np_dtype(kind)))
    for shape in [[3], [16, 12], [], [2.0]] * 2:
        try:
            found.append(tl.block_type(tl.float32, shape).name)
        except (TypeError, ValueError) as error:
            found.append(str(error))
    return found

def unwrapped():
    given = [1, 1.5, True, None, tl.float16, tl.constexpr(2), [tl.constexpr(2), 3],
             (tl.constexpr(2), 3), tl.tuple([tl.constexpr(2), 3]), tl.block_type(tl.int32, [16])]
    return [described(tl.core._unwrap_if_constexpr(value)) for value in given]

folder = Path(tempfile.mkdtemp())
before = [rewritten(), typed(), unwrapped()]
rewriting.install()
quicker.install()
after = [rewritten(), typed(), unwrapped()]
helper, kernel = load()()
ready = [f.rewriter.rewrite_ast() is f.fn for f in (helper, kernel.fn)]
print(json.dumps([before, after, ready]))
"""


def test_kernels_and_types_are_those_that_triton_makes():
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(course.ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", f"IMPORTS, CELL = {IMPORTS!r}, {CELL!r}\n{PROGRAM}"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    before, after, ready = json.loads(run.stdout)
    for theirs, ours in zip(before, after, strict=True):
        assert ours == theirs
    assert ready == [True, True], "the shortcut was not taken"


BASE = torch.zeros(4000, dtype=torch.float16)
SQUARE = BASE[:600].view(20, 30)


@pytest.mark.parametrize(
    ("tensor", "dense"),
    [
        (SQUARE, True),
        (SQUARE.T, True),
        (BASE[:24].view(2, 3, 4).permute(1, 2, 0), True),
        (BASE[:600].view(20, 1, 30), True),
        (BASE[5:6], True),
        (BASE[:0].view(0, 4), True),
        (SQUARE[:, :7], False),
        (SQUARE[::2], False),
        (BASE[:8:2], False),
        (BASE[:20].expand(3, 20), False),
    ],
)
def test_an_address_is_a_tensors_own_only_if_an_element_lies_there(tensor, dense):
    view = _View.of("x", tensor)
    assert view.dense == dense
    indices = itertools.product(*map(range, tensor.shape))
    own = [2 * sum(i * s for i, s in zip(index, tensor.stride())) for index in indices]
    start = tensor.data_ptr()  # 0 where there are no elements
    addresses = np.arange(max(start - 64, 0), start + 1300, dtype=np.uint64)
    expected = np.isin(addresses, np.array(own, np.uint64) + np.uint64(start))
    np.testing.assert_array_equal(view.contains(addresses), expected)


@pytest.mark.parametrize("told_by_kernel", [True, False])
def test_descendants_are_children_and_theirs(monkeypatch, told_by_kernel):
    monkeypatch.setattr(system, "KEEPS_CHILDREN", told_by_kernel and system.KEEPS_CHILDREN)
    code = "import subprocess as s, sys; p = s.Popen(['sleep', '60']); print(p.pid, flush=True)\np.wait()"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        grandchild = int(child.stdout.readline())
        assert {child.pid, grandchild} <= set(system.descendants())
        psutil.Process(grandchild).kill()
        child.wait()
        assert not {child.pid, grandchild} & set(system.descendants())
    finally:
        child.kill()
        child.wait()
