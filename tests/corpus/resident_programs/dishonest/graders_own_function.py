"""The grader's own calculation is imported.

step: resident_programs
expect: error|refused|failed
attack: the answer computed by the grader's module
"""

from dataclasses import replace

from autograder.targets import TARGETS, occupancy


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    fields = {name: value for name, value in sm.items() if name != "partitions"}
    target = replace(TARGETS["sm_90"], **fields)
    return occupancy(target, registers_per_thread, shared_bytes, num_warps).programs
