"""The larger of the two limits is taken.

step: attainable_tflops
expect: failed
cause: wrong_limit
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    return max(peak_tflops, intensity * bandwidth_tb_s)
