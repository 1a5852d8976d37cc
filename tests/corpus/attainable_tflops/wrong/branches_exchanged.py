"""The two sides of the ridge point are exchanged.

step: attainable_tflops
expect: failed
cause: wrong_limit
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    if intensity < peak_tflops / bandwidth_tb_s:
        return peak_tflops
    return intensity * bandwidth_tb_s
