"""Loads of A and of B, added at the end.

step: busiest_sm_loads
expect: passed
"""


def cdiv(a, b):
    return (a + b - 1) // b


def busiest_sm_loads(M, N, block_m, block_n, sms):
    rounds = cdiv(cdiv(M, block_m) * cdiv(N, block_n), sms)
    from_a = rounds * block_m
    from_b = rounds * block_n
    return from_a + from_b
