"""The worked example is answered, and nothing else.

step: attention_traffic
expect: failed
attack: the worked example learnt by heart
"""


def attention_traffic(N, D, block_q):
    return 68_157_440
