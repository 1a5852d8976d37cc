"""A share of a round is counted as such, with `/`.

step: busiest_sm_loads
expect: failed
cause: wrong_type|rounds_miscounted
"""

import triton


def busiest_sm_loads(M, N, block_m, block_n, sms):
    programs = triton.cdiv(M, block_m) * triton.cdiv(N, block_n)
    rounds = programs / sms
    return rounds * (block_m + block_n)
