"""A warp may have registers of two partitions.

step: resident_programs
expect: failed
cause: register_units
"""


def round_up(value, unit):
    return -(-value // unit) * unit


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    if shared_bytes > sm["shared_block"]:
        return 0
    per_warp = round_up(registers_per_thread * sm["warp_size"], sm["register_unit"])
    warps = sm["registers"] // per_warp
    programs = min(sm["warps"] // num_warps, sm["blocks"], warps // num_warps)
    shared = round_up(shared_bytes + sm["shared_reserved"], sm["shared_unit"])
    return min(programs, sm["shared_sm"] // shared) if shared else programs
