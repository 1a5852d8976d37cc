"""Prefix and milliseconds in one number.

step: least_ms
expect: passed
"""


def least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s):
    return max(flop / peak_tflops, bytes_moved / bandwidth_tb_s) / 1e9
