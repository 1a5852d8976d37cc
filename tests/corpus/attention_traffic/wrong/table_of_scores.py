"""The traffic of standard attention: scores and weights, each written and read.

step: attention_traffic
expect: failed
cause: scores_counted
"""


def attention_traffic(N, D, block_q):
    return 4 * N * D + 4 * N * N
