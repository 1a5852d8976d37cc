"""The ridge point is compared with the intensity and returned.

step: attainable_tflops
expect: failed
cause: wrong_limit
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    return min(intensity, peak_tflops / bandwidth_tb_s)
