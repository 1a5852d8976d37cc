"""The formula in one line.

step: attention_traffic
expect: passed
"""


def attention_traffic(N, D, block_q):
    return 2 * N * D * (1 + -(-N // block_q))
