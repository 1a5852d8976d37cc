"""The place is first brought into the part that the layout covers.

step: layout_owner
expect: passed
"""


def layout_owner(row, col, layout):
    lane = warp = 0
    lane_step = warp_step = 1
    for axis in layout["order"]:
        threads, warps = layout["threads_per_warp"][axis], layout["warps_per_program"][axis]
        covered = layout["size_per_thread"][axis] * threads * warps
        block = (row, col)[axis] % covered // layout["size_per_thread"][axis]
        lane += block % threads * lane_step
        warp += block // threads * warp_step
        lane_step *= threads
        warp_step *= warps
    return warp, lane
