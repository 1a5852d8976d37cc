"""The tiles at the edge are left out.

step: busiest_sm_loads
expect: failed
cause: grid_floor
"""

import triton


def busiest_sm_loads(M, N, block_m, block_n, sms):
    programs = (M // block_m) * (N // block_n)
    rounds = triton.cdiv(programs, sms)
    return rounds * (block_m + block_n)
