"""A program larger than allowed counts if the SM has the room.

step: resident_programs
expect: failed
cause: too_large_to_start
"""


def round_up(value, unit):
    return -(-value // unit) * unit


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    per_warp = round_up(registers_per_thread * sm["warp_size"], sm["register_unit"])
    warps = sm["registers"] // sm["partitions"] // per_warp * sm["partitions"]
    programs = min(sm["warps"] // num_warps, sm["blocks"], warps // num_warps)
    shared = round_up(shared_bytes + sm["shared_reserved"], sm["shared_unit"])
    return min(programs, sm["shared_sm"] // shared) if shared else programs
