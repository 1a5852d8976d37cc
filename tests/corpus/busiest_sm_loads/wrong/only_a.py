"""Only what comes from A is counted.

step: busiest_sm_loads
expect: failed
cause: operand_missing
"""

import triton


def busiest_sm_loads(M, N, block_m, block_n, sms):
    programs = triton.cdiv(M, block_m) * triton.cdiv(N, block_n)
    rounds = triton.cdiv(programs, sms)
    return rounds * block_m
