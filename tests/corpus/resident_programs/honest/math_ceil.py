"""Rounded up with math.ceil, on numbers that floats hold exactly.

step: resident_programs
expect: passed
"""

import math


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    per_warp = math.ceil(registers_per_thread * sm["warp_size"] / sm["register_unit"])
    per_warp *= sm["register_unit"]
    per_partition = math.floor(sm["registers"] / sm["partitions"] / per_warp)
    shared = math.ceil((shared_bytes + sm["shared_reserved"]) / sm["shared_unit"])
    shared *= sm["shared_unit"]
    return min(
        sm["warps"] // num_warps,
        sm["blocks"],
        per_partition * sm["partitions"] // num_warps,
        sm["shared_sm"] // shared if shared else sm["blocks"],
        0 if shared_bytes > sm["shared_block"] else sm["blocks"],
    )
