"""Where the masks begin is not shifted.

step: causal_blocks
expect: failed
cause: causal_alignment
"""


def causal_blocks(first, block_m, Nq, Nk, block_n):
    seen = min(first + 1, Nk)
    full = seen // block_n * block_n
    end = min(max(first + block_m + Nk - Nq, 0), Nk)
    return full, end
