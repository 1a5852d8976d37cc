"""Tiles that see no key get negative numbers.

step: causal_blocks
expect: failed
cause: block_bounds_wrong
"""


def causal_blocks(first, block_m, Nq, Nk, block_n):
    seen = min(first + 1 + Nk - Nq, Nk)
    full = seen // block_n * block_n
    end = min(first + block_m + Nk - Nq, Nk)
    return full, end
