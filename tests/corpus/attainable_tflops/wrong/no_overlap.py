"""Loading and computing are taken to wait for each other.

step: attainable_tflops
expect: failed
cause: wrong_limit
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    memory = intensity * bandwidth_tb_s
    return peak_tflops * memory / (peak_tflops + memory)
