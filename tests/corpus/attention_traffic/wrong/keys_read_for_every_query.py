"""Keys and values count for every query, not for every block of them.

step: attention_traffic
expect: failed
cause: rereads_miscounted
"""


def attention_traffic(N, D, block_q):
    return 2 * N * D + 2 * N * D * N
