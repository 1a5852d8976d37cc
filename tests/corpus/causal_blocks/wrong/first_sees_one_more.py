"""The first query is given one key too many.

step: causal_blocks
expect: failed
cause: causal_mask_wrong
"""


def causal_blocks(first, block_m, Nq, Nk, block_n):
    seen = min(max(first + 2 + Nk - Nq, 0), Nk)
    full = seen // block_n * block_n
    end = min(max(first + block_m + Nk - Nq, 0), Nk)
    return full, end
