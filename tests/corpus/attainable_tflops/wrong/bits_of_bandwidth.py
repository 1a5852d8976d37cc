"""The bandwidth is divided by 8.

step: attainable_tflops
expect: failed
cause: unit_wrong
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    return min(peak_tflops, intensity * bandwidth_tb_s / 8)
