"""The number of programs by triton.cdiv.

step: attention_traffic
expect: passed
"""

import triton


def attention_traffic(N, D, block_q):
    return 2 * N * D + triton.cdiv(N, block_q) * 2 * N * D
