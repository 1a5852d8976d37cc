"""The output is not counted.

step: attention_traffic
expect: failed
cause: operand_left_out
"""


def attention_traffic(N, D, block_q):
    return N * D + 2 * N * D * -(-N // block_q)
