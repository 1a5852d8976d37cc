"""Each program is asked what it moves.

step: attention_traffic
expect: passed
"""


def attention_traffic(N, D, block_q):
    moved = 0
    for first in range(0, N, block_q):
        queries = min(block_q, N - first)
        moved += 2 * queries * D + 2 * N * D
    return moved
