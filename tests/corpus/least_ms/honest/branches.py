"""An if in place of max.

step: least_ms
expect: passed
"""


def least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s):
    compute = flop / (peak_tflops * 1e12)
    memory = bytes_moved / (bandwidth_tb_s * 1e12)
    if compute > memory:
        return 1000 * compute
    return 1000 * memory
