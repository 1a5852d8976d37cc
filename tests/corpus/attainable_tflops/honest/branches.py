"""The ridge point decides.

step: attainable_tflops
expect: passed
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    ridge = peak_tflops / bandwidth_tb_s
    if intensity >= ridge:
        return peak_tflops
    return intensity * bandwidth_tb_s
