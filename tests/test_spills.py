"""The default tiles of `flash_attention` and `attention` leave no register to be spilled.

Compiled for GPUs that need not be there. A causal mask asks for more registers than none does, and
bfloat16 for as many as float16, so those are left out where they say nothing new.
"""

import numpy as np
import pytest

from autograder import compile_check, course
from autograder.steps.case import Backward, Case, Operand
from autograder.submission import read
from autograder.targets import TARGETS

B, H, N = 1, 2, 256
CALLS = (  # D, dtype, causal
    (32, "float16", True),
    (64, "float16", True),
    (128, "float16", True),
    (128, "float16", False),
    (32, "float32", True),
    (128, "float32", True),
)
KERNELS = {
    "flash_attention": {"attention_kernel", "hopper_kernel"},
    "attention": {
        "forward_kernel",
        "delta_kernel",
        "key_gradients_kernel",
        "query_gradient_kernel",
    },
}


def call(step: str, d: int, dtype: str, causal: bool) -> Case:
    """Shapes and types are all that a compiler sees: no values are computed."""
    zeros = np.zeros((B, H, N, d), dtype)
    operands = tuple(Operand(name, zeros) for name in "qkv")
    backward = Backward(Operand("dout", zeros), tuple("qkv")) if step == "attention" else None
    return Case("", {}, operands, zeros, zeros, dtype, named={"causal": causal}, backward=backward)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "gfx942"])
@pytest.mark.parametrize("step", KERNELS)
def test_default_tiles_spill_no_register(step, target, sandbox):
    solution = read(course.ROOT / "solutions" / f"{course.find_step(step).folder}.py")
    found, bad = set(), []
    for size in CALLS:
        made = compile_check.compile_step(
            solution, step, call(step, *size), TARGETS[target], sandbox.compiler
        )
        assert not made.refusals and not made.unjudged, (size, made)
        for kernel in made.kernels:
            found.add(kernel.name)
            spilled = kernel.spill_stores + kernel.spill_loads
            if spilled or kernel.shared > TARGETS[target].shared_block:
                bad.append((size, kernel.name, kernel.constants, spilled, kernel.shared))
    assert found == KERNELS[step] - ({"hopper_kernel"} if target != "sm_90" else set())
    assert not bad
