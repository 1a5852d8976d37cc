"""The last tile looks past the last key.

step: causal_blocks
expect: failed
cause: block_bounds_wrong
"""


def causal_blocks(first, block_m, Nq, Nk, block_n):
    seen = min(max(first + 1 + Nk - Nq, 0), Nk)
    full = seen // block_n * block_n
    end = max(first + block_m + Nk - Nq, 0)
    return full, end
