"""Bytes of 16-bit numbers are returned, not elements.

step: busiest_sm_loads
expect: failed
cause: rounds_miscounted
"""

import triton


def busiest_sm_loads(M, N, block_m, block_n, sms):
    programs = triton.cdiv(M, block_m) * triton.cdiv(N, block_n)
    rounds = triton.cdiv(programs, sms)
    return 2 * rounds * (block_m + block_n)
