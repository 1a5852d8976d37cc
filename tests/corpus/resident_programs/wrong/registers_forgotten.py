"""Registers are left out.

step: resident_programs
expect: failed
cause: limit_forgotten
"""


def round_up(value, unit):
    return -(-value // unit) * unit


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    if shared_bytes > sm["shared_block"]:
        return 0
    programs = min(sm["warps"] // num_warps, sm["blocks"])
    shared = round_up(shared_bytes + sm["shared_reserved"], sm["shared_unit"])
    return min(programs, sm["shared_sm"] // shared) if shared else programs
