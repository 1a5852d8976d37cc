"""The result is in microseconds.

step: least_ms
expect: failed
cause: unit_wrong
"""


def least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s):
    return max(flop / (peak_tflops * 1e12), bytes_moved / (bandwidth_tb_s * 1e12)) * 1e6
