"""Registers of a program, without units or partitions.

step: resident_programs
expect: failed
cause: register_units
"""


def round_up(value, unit):
    return -(-value // unit) * unit


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    if shared_bytes > sm["shared_block"]:
        return 0
    registers = registers_per_thread * sm["warp_size"] * num_warps
    programs = min(sm["warps"] // num_warps, sm["blocks"], sm["registers"] // registers)
    shared = round_up(shared_bytes + sm["shared_reserved"], sm["shared_unit"])
    return min(programs, sm["shared_sm"] // shared) if shared else programs
