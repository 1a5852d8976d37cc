"""NumPy's integers, one minimum over an array.

step: resident_programs
expect: passed
"""

import numpy as np


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    if shared_bytes > sm["shared_block"]:
        return 0
    need = np.array([registers_per_thread * sm["warp_size"], shared_bytes + sm["shared_reserved"]])
    unit = np.array([sm["register_unit"], sm["shared_unit"]])
    per_warp, shared = (need + unit - 1) // unit * unit
    warps = sm["registers"] // sm["partitions"] // per_warp * sm["partitions"]
    return np.min(
        [
            sm["warps"] // num_warps,
            sm["blocks"],
            warps // num_warps,
            sm["shared_sm"] // max(shared, 1),
        ]
    )
