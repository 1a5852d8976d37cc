"""Each program reads one block of keys.

step: attention_traffic
expect: failed
cause: rereads_miscounted
"""


def attention_traffic(N, D, block_q):
    programs = -(-N // block_q)
    return 2 * N * D + programs * 2 * block_q * D
