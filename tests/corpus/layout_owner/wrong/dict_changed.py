"""The order is reversed in the dict that belongs to the caller.

step: layout_owner
expect: failed
cause: input_modified
"""


def layout_owner(row, col, layout):
    layout["order"] = tuple(reversed(layout["order"]))
    place, warp, lane = (row, col), 0, 0
    for axis in layout["order"]:
        block = place[axis] // layout["size_per_thread"][axis]
        lanes = layout["threads_per_warp"][axis]
        warps = layout["warps_per_program"][axis]
        lane = lane * lanes + block % lanes
        warp = warp * warps + block // lanes % warps
    return warp, lane
