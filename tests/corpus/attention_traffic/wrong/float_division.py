"""The division gives a float.

step: attention_traffic
expect: failed
cause: wrong_type
"""

from math import ceil


def attention_traffic(N, D, block_q):
    return 2 * N * D + 2 * N * D * ceil(N / block_q) * 1.0
