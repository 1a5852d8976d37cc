"""A helper numbers what lies side by side.

step: layout_owner
expect: passed
"""


def numbered(place, shape, order):
    number = 0
    for axis in reversed(order):
        number = number * shape[axis] + place[axis] % shape[axis]
    return number


def layout_owner(row, col, layout):
    threads, order = layout["threads_per_warp"], layout["order"]
    block = [p // size for p, size in zip((row, col), layout["size_per_thread"])]
    behind = [b // lanes for b, lanes in zip(block, threads)]
    return numbered(behind, layout["warps_per_program"], order), numbered(block, threads, order)
