"""Shared memory is not rounded up to units.

step: resident_programs
expect: failed
cause: shared_units
"""


def round_up(value, unit):
    return -(-value // unit) * unit


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    if shared_bytes > sm["shared_block"]:
        return 0
    per_warp = round_up(registers_per_thread * sm["warp_size"], sm["register_unit"])
    warps = sm["registers"] // sm["partitions"] // per_warp * sm["partitions"]
    programs = min(sm["warps"] // num_warps, sm["blocks"], warps // num_warps)
    shared = shared_bytes + sm["shared_reserved"]
    return min(programs, sm["shared_sm"] // shared) if shared else programs
