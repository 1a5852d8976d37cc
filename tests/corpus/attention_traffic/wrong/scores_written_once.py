"""The scores are written once on the way.

step: attention_traffic
expect: failed
cause: scores_counted
"""


def attention_traffic(N, D, block_q):
    return 2 * N * D + 2 * N * D * -(-N // block_q) + N * N
