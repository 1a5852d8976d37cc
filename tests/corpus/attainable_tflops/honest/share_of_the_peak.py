"""A share of the peak, at most all of it.

step: attainable_tflops
expect: passed
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    share = intensity * bandwidth_tb_s / peak_tflops
    return peak_tflops * min(1.0, share)
