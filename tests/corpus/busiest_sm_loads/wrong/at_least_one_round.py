"""An empty grid counts as a round.

step: busiest_sm_loads
expect: failed
cause: rounds_miscounted
"""

import triton


def busiest_sm_loads(M, N, block_m, block_n, sms):
    programs = triton.cdiv(M, block_m) * triton.cdiv(N, block_n)
    rounds = max(1, triton.cdiv(programs, sms))
    return rounds * (block_m + block_n)
