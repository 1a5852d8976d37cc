"""Deals the programs out one by one and looks at the first SM.

step: busiest_sm_loads
expect: passed
"""


def busiest_sm_loads(M, N, block_m, block_n, sms):
    tiles = [(m, n) for m in range(0, M, block_m) for n in range(0, N, block_n)]
    return sum(block_m + block_n for _ in tiles[::sms])
