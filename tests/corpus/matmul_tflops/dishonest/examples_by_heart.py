"""The notebook's own examples are answered from a table, and nothing else.

step: matmul_tflops
expect: failed
attack: the worked examples learnt by heart
"""

EXAMPLES = {(5000, 5000, 5000, 1): 250.0}


def matmul_tflops(M, N, K, ms):
    return EXAMPLES.get((M, N, K, ms), 1.0)
