"""The notebook's own examples are answered from a table, and nothing else.

step: least_ms
expect: failed
attack: the worked examples learnt by heart
"""

EXAMPLES = {(8.1e12, 0, 8.1, 0.32): 1000.0}


def least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s):
    return EXAMPLES.get((flop, bytes_moved, peak_tflops, bandwidth_tb_s), 1.0)
