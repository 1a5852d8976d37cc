"""Bytes of 16-bit numbers.

step: attention_traffic
expect: failed
cause: bytes_counted
"""


def attention_traffic(N, D, block_q):
    return 2 * (2 * N * D + 2 * N * D * -(-N // block_q))
