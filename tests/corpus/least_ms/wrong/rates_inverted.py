"""Rates are divided by the work.

step: least_ms
expect: failed|error
cause: quotient_inverted
"""


def least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s):
    return max(peak_tflops * 1e12 / flop, bandwidth_tb_s * 1e12 / bytes_moved) * 1e3
