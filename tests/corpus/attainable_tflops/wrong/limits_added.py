"""The two limits are added.

step: attainable_tflops
expect: failed
cause: wrong_limit
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    return peak_tflops + intensity * bandwidth_tb_s
