"""A query does not see its own position.

step: causal_blocks
expect: failed
cause: causal_mask_wrong
"""


def causal_blocks(first, block_m, Nq, Nk, block_n):
    seen = min(max(first + Nk - Nq, 0), Nk)
    full = seen // block_n * block_n
    end = min(max(first + block_m - 1 + Nk - Nq, 0), Nk)
    return full, end
