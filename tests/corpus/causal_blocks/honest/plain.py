"""The rule as the notebook has it.

step: causal_blocks
expect: passed
"""


def causal_blocks(first, block_m, Nq, Nk, block_n):
    seen = min(max(first + 1 + Nk - Nq, 0), Nk)
    full = seen // block_n * block_n
    end = min(max(first + block_m + Nk - Nq, 0), Nk)
    return full, end
