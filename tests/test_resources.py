"""The arithmetic of chapter 9 against the compiler that it is about."""

import json
import subprocess
import sys

import pytest

from autograder import course
from autograder.steps import resources
from autograder.targets import TARGETS, limits

LAYOUTS = (
    ((1, 8), (4, 8), (4, 1), (1, 0)),
    ((8, 1), (8, 4), (1, 4), (0, 1)),
    ((1, 4), (2, 16), (2, 4), (1, 0)),
    ((2, 2), (4, 8), (2, 2), (0, 1)),
)

# Triton's own table of a layout: which bits of lane and warp move an element by how much. In another
# process, so that the compiler's libraries are not loaded beside the interpreter's.
ASK = """
import json, sys
from triton._C.libtriton import gluon_ir, ir
from triton.experimental.gluon.language._layouts import BlockedLayout

context = ir.context()
ir.load_dialects(context)
builder = gluon_ir.GluonOpBuilder(context)
told = []
for layout in json.loads(sys.argv[1]):
    linear = builder.to_linear_layout(BlockedLayout(*layout)._to_ir(builder), [256, 256])
    told.append([linear.reg_bases, linear.lane_bases, linear.warp_bases])
print(json.dumps(told))
"""


def test_a_layout_is_spread_as_the_compiler_spreads_it():
    done = subprocess.run([sys.executable, "-c", ASK, json.dumps(LAYOUTS)], check=False, capture_output=True, text=True)  # fmt: skip
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1]
        pytest.skip(f"this Triton does not tell what a layout is: {last}")
    for layout, (registers, lanes, warps) in zip(LAYOUTS, json.loads(done.stdout)):
        described = dict(
            zip(("size_per_thread", "threads_per_warp", "warps_per_program", "order"), layout)
        )
        for register in range(2 ** len(registers)):
            for lane in (0, 1, 7, 12, 31):
                for warp in range(2 ** len(warps)):
                    row, col = _sum(registers, register), _sum(lanes, lane)
                    place = [sum(p) for p in zip(row, col, _sum(warps, warp))]
                    assert resources.layout_owner(*place, described) == (warp, lane)


def _sum(bases: list[list[int]], number: int) -> list[int]:
    """Where a number leads: the sum of the bases of its bits."""
    chosen = [base for bit, base in enumerate(bases) if number >> bit & 1]
    return [sum(base[axis] for base in chosen) for axis in (0, 1)]


def test_buffers_and_programs_are_those_of_the_compiled_kernel(autograder, tmp_path):
    """The kernel of chapter 8 for an H100: its shared memory, and how many of it xray sees fit."""
    path = tmp_path / "report.json"
    solution = course.ROOT / "solutions" / "08_group_major.py"
    autograder("xray", solution, "--step", "grouped_matmul", "--target", "sm_90", "--json", path)
    kernel = json.loads(path.read_text())["steps"][0]["targets"][0]["kernels"][0]
    assert kernel["shared"] == resources.shared_memory_bytes(128, 128, 64, 2, kernel["stages"])
    fit = course.load_solution("resident_programs")(
        kernel["registers"], kernel["shared"], kernel["warps"], limits(TARGETS["sm_90"])
    )
    assert fit == kernel["occupancy"]["programs"]


def test_every_limit_of_a_target_is_told():
    for target in TARGETS.values():
        told = limits(target)
        assert told["registers"] == target.registers and told["blocks"] == target.blocks
        assert all(type(value) is int for value in told.values())
        assert not {"name", "gpus", "backend", "arch"} & set(told)
