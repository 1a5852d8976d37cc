"""The bandwidth is converted once too often.

step: attainable_tflops
expect: failed
cause: unit_wrong
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    return min(peak_tflops, intensity * bandwidth_tb_s * 1e3)
