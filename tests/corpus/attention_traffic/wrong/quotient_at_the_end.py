"""The division by the block comes last, so that part of a program counts.

step: attention_traffic
expect: failed
cause: tail_dropped
"""


def attention_traffic(N, D, block_q):
    return 2 * N * D + 2 * N * D * N // block_q
