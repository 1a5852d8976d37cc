"""NumPy numbers lanes and warps.

step: layout_owner
expect: passed
"""

import numpy as np


def layout_owner(row, col, layout):
    block = np.array([row, col]) // np.array(layout["size_per_thread"])
    threads, warps = np.array(layout["threads_per_warp"]), np.array(layout["warps_per_program"])
    numbering = "C" if layout["order"][0] == 1 else "F"
    lane = np.ravel_multi_index(tuple(block % threads), tuple(threads), order=numbering)
    warp = np.ravel_multi_index(tuple(block // threads % warps), tuple(warps), order=numbering)
    return int(warp), int(lane)
