"""The operations are doubled, as if they were multiply-adds.

step: least_ms
expect: failed
cause: flop_miscounted
"""


def least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s):
    return max(2 * flop / (peak_tflops * 1e12), bytes_moved / (bandwidth_tb_s * 1e12)) * 1e3
