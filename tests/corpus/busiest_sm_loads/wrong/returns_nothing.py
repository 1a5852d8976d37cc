"""The result is printed and not returned.

step: busiest_sm_loads
expect: failed
cause: wrong_type
"""

import triton


def busiest_sm_loads(M, N, block_m, block_n, sms):
    programs = triton.cdiv(M, block_m) * triton.cdiv(N, block_n)
    rounds = triton.cdiv(programs, sms)
    print(rounds * (block_m + block_n))
