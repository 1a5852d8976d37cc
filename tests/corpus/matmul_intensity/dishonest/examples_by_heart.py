"""The notebook's own examples are answered from a table, and nothing else.

step: matmul_intensity
expect: failed
attack: the worked examples learnt by heart
"""

EXAMPLES = {(600, 600, 600, 4): 100.0, (1, 4096, 4096, 2): 0.99951}


def matmul_intensity(M, N, K, itemsize):
    return EXAMPLES.get((M, N, K, itemsize), 1.0)
