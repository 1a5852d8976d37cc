"""The four limits by name, and the least of them.

step: resident_programs
expect: passed
"""


def round_up(value, unit):
    return -(-value // unit) * unit


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    if shared_bytes > sm["shared_block"]:
        return 0
    limits = {"warps": sm["warps"] // num_warps, "programs": sm["blocks"]}
    per_warp = round_up(registers_per_thread * sm["warp_size"], sm["register_unit"])
    in_partition = sm["registers"] // sm["partitions"] // per_warp
    limits["registers"] = in_partition * sm["partitions"] // num_warps
    shared = round_up(shared_bytes + sm["shared_reserved"], sm["shared_unit"])
    if shared:
        limits["shared memory"] = sm["shared_sm"] // shared
    return min(limits.values())
