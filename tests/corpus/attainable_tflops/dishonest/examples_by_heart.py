"""The notebook's own examples are answered from a table, and nothing else.

step: attainable_tflops
expect: failed
attack: the worked examples learnt by heart
"""

EXAMPLES = {(10, 8.1, 0.32): 3.2, (1000, 8.1, 0.32): 8.1}


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    return EXAMPLES.get((intensity, peak_tflops, bandwidth_tb_s), 1.0)
