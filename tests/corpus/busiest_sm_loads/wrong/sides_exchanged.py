"""Rows are divided by the width of a tile, columns by its height.

step: busiest_sm_loads
expect: failed
cause: tile_dimensions_confused
"""

import triton


def busiest_sm_loads(M, N, block_m, block_n, sms):
    programs = triton.cdiv(M, block_n) * triton.cdiv(N, block_m)
    rounds = triton.cdiv(programs, sms)
    return rounds * (block_m + block_n)
