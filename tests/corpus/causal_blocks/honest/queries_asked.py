"""Every query of the tile is asked how many keys it sees.

step: causal_blocks
expect: passed
"""


def causal_blocks(first, block_m, Nq, Nk, block_n):
    seen = [sorted((0, i + 1 + Nk - Nq, Nk))[1] for i in range(first, first + block_m)]
    return min(seen) - min(seen) % block_n, max(seen)
