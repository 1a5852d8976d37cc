"""The mask itself, and where its rows end.

step: causal_blocks
expect: passed
"""

import numpy as np


def causal_blocks(first, block_m, Nq, Nk, block_n):
    queries = np.arange(first, first + block_m)[:, None]
    seen = np.arange(Nk)[None, :] <= queries + Nk - Nq
    whole = int(seen.all(axis=0).sum())
    return whole // block_n * block_n, int(seen.any(axis=0).sum())
