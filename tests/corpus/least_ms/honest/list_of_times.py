"""The largest of a list.

step: least_ms
expect: passed
"""


def least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s):
    times = [flop / (peak_tflops * 1e12), bytes_moved / (bandwidth_tb_s * 1e12)]
    print(times)
    return sorted(times)[-1] * 1e3
