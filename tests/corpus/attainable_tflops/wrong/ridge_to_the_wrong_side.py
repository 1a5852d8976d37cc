"""The peak is promised from half of the ridge point on.

step: attainable_tflops
expect: failed
cause: wrong_limit
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    if intensity > 0.75 * peak_tflops / bandwidth_tb_s:
        return peak_tflops
    return intensity * bandwidth_tb_s
