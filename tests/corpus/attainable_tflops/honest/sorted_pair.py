"""The first of the sorted limits.

step: attainable_tflops
expect: passed
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    return sorted([intensity * bandwidth_tb_s, peak_tflops])[0]
