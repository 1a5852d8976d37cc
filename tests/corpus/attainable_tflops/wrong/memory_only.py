"""The peak is not a limit.

step: attainable_tflops
expect: failed
cause: wrong_limit
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    return intensity * bandwidth_tb_s
