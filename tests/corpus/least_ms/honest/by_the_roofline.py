"""The attainable rate is computed first, with its own way out for no bytes and no operations.

step: least_ms
expect: passed
"""


def least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s):
    if not bytes_moved:
        return flop / peak_tflops / 1e9
    if not flop:
        return bytes_moved / bandwidth_tb_s / 1e9
    rate = min(peak_tflops, flop / bytes_moved * bandwidth_tb_s)
    return flop / rate / 1e9
