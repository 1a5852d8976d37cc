"""The memory is left out.

step: least_ms
expect: failed
cause: wrong_limit
"""


def least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s):
    return flop / (peak_tflops * 1e12) * 1e3
