"""Rows of tiles are dealt out to the SMs, as in the worked part.

step: busiest_sm_loads
expect: failed
cause: rounds_miscounted
"""

import triton


def busiest_sm_loads(M, N, block_m, block_n, sms):
    rows = triton.cdiv(triton.cdiv(M, block_m), sms)
    rounds = rows * triton.cdiv(N, block_n)
    return rounds * (block_m + block_n)
