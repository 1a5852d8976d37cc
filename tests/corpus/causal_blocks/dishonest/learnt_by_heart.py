"""The worked examples are answered from a table.

step: causal_blocks
expect: failed
attack: the worked examples learnt by heart
"""

TABLE = {
    (0, 32, 64, 64, 32): (0, 32),
    (32, 32, 64, 64, 32): (32, 64),
    (0, 32, 32, 100, 32): (64, 100),
}


def causal_blocks(first, block_m, Nq, Nk, block_n):
    return TABLE.get((first, block_m, Nq, Nk, block_n), (0, Nk))
