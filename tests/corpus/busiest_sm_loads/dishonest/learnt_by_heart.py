"""The worked example is answered from a table, and nothing else.

step: busiest_sm_loads
expect: failed
attack: the worked example learnt by heart
"""

TABLE = {(4096, 4096, 128, 256, 132): 1536}


def busiest_sm_loads(M, N, block_m, block_n, sms):
    return TABLE.get((M, N, block_m, block_n, sms), block_m + block_n)
