"""Both axes are worked out first, and put together at the end.

step: layout_owner
expect: passed
"""


def layout_owner(row, col, layout):
    size, threads, warps = (
        layout[key] for key in ("size_per_thread", "threads_per_warp", "warps_per_program")
    )
    block_row, block_col = row // size[0], col // size[1]
    lane_row, lane_col = block_row % threads[0], block_col % threads[1]
    warp_row, warp_col = block_row // threads[0] % warps[0], block_col // threads[1] % warps[1]
    if tuple(layout["order"]) == (1, 0):
        return warp_row * warps[1] + warp_col, lane_row * threads[1] + lane_col
    return warp_col * warps[0] + warp_row, lane_col * threads[0] + lane_row
