"""The queries and the output count once for each program, too.

step: attention_traffic
expect: failed
cause: rereads_miscounted
"""


def attention_traffic(N, D, block_q):
    return 4 * N * D * -(-N // block_q)
