"""Keys and values count once, as if all programs shared them.

step: attention_traffic
expect: failed
cause: rereads_miscounted
"""


def attention_traffic(N, D, block_q):
    return 4 * N * D
