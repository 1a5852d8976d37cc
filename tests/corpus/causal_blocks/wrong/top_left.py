"""The first query sees one key, whatever the lengths.

step: causal_blocks
expect: failed
cause: causal_alignment
"""


def causal_blocks(first, block_m, Nq, Nk, block_n):
    seen = min(max(first + 1, 0), Nk)
    full = seen // block_n * block_n
    end = min(first + block_m, Nk)
    return full, end
