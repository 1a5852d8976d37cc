"""Shared memory counts only where a program cannot start.

step: resident_programs
expect: failed
cause: limit_forgotten
"""


def round_up(value, unit):
    return -(-value // unit) * unit


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    if shared_bytes > sm["shared_block"]:
        return 0
    per_warp = round_up(registers_per_thread * sm["warp_size"], sm["register_unit"])
    warps = sm["registers"] // sm["partitions"] // per_warp * sm["partitions"]
    return min(sm["warps"] // num_warps, sm["blocks"], warps // num_warps)
