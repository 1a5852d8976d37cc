"""Only the keys are read again, not the values.

step: attention_traffic
expect: failed
cause: operand_left_out
"""


def attention_traffic(N, D, block_q):
    return 2 * N * D + N * D * -(-N // block_q)
