"""The shift has the wrong sign.

step: causal_blocks
expect: failed
cause: causal_alignment
"""


def causal_blocks(first, block_m, Nq, Nk, block_n):
    seen = min(max(first + 1 + Nq - Nk, 0), Nk)
    full = seen // block_n * block_n
    end = min(max(first + block_m + Nq - Nk, 0), Nk)
    return full, end
