"""The warps are returned, not the programs.

step: resident_programs
expect: failed
cause: warps_for_programs
"""


def round_up(value, unit):
    return -(-value // unit) * unit


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    if shared_bytes > sm["shared_block"]:
        return 0
    per_warp = round_up(registers_per_thread * sm["warp_size"], sm["register_unit"])
    warps = sm["registers"] // sm["partitions"] // per_warp * sm["partitions"]
    programs = min(sm["warps"] // num_warps, sm["blocks"], warps // num_warps)
    shared = round_up(shared_bytes + sm["shared_reserved"], sm["shared_unit"])
    programs = min(programs, sm["shared_sm"] // shared) if shared else programs
    return programs * num_warps
