"""The number of programs is rounded down.

step: attention_traffic
expect: failed
cause: tail_dropped
"""


def attention_traffic(N, D, block_q):
    return 2 * N * D + 2 * N * D * (N // block_q)
