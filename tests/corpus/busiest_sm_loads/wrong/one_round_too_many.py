"""A round is added even where the last one was full.

step: busiest_sm_loads
expect: failed
cause: rounds_miscounted
"""

import triton


def busiest_sm_loads(M, N, block_m, block_n, sms):
    programs = triton.cdiv(M, block_m) * triton.cdiv(N, block_n)
    rounds = programs // sms + 1
    return rounds * (block_m + block_n)
