"""The number of programs by math.ceil.

step: attention_traffic
expect: passed
"""

from math import ceil


def attention_traffic(N, D, block_q):
    q = output = k = v = N * D
    return q + output + ceil(N / block_q) * (k + v)
