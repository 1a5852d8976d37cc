"""The intensity is divided by the bandwidth.

step: attainable_tflops
expect: failed
cause: quotient_inverted
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    return min(peak_tflops, intensity / bandwidth_tb_s)
