"""The bandwidth is divided by the intensity.

step: attainable_tflops
expect: failed|error
cause: quotient_inverted
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    return min(peak_tflops, bandwidth_tb_s / intensity)
