"""Rounds up by negating twice.

step: busiest_sm_loads
expect: passed
"""


def busiest_sm_loads(M, N, block_m, block_n, sms):
    programs = (-M // block_m) * (-N // block_n)
    return -(-programs // sms) * (block_m + block_n)
