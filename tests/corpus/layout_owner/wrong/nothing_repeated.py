"""Neither lanes nor warps begin again.

step: layout_owner
expect: failed
cause: layout_not_repeated
"""


def layout_owner(row, col, layout):
    place, warp, lane = (row, col), 0, 0
    for axis in reversed(layout["order"]):
        block = place[axis] // layout["size_per_thread"][axis]
        lanes = layout["threads_per_warp"][axis]
        warps = layout["warps_per_program"][axis]
        lane = lane * lanes + block
        warp = warp * warps + block // lanes
    return warp, lane
