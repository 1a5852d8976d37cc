"""Neighbouring blocks go to different warps first.

step: layout_owner
expect: failed
cause: layout_map_wrong
"""


def layout_owner(row, col, layout):
    place, warp, lane = (row, col), 0, 0
    for axis in reversed(layout["order"]):
        block = place[axis] // layout["size_per_thread"][axis]
        lanes = layout["threads_per_warp"][axis]
        warps = layout["warps_per_program"][axis]
        lane = lane * lanes + block // warps % lanes
        warp = warp * warps + block % warps
    return warp, lane
