"""NumPy takes the smaller one.

step: attainable_tflops
expect: passed
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    import numpy as np

    return float(np.minimum(peak_tflops, intensity * bandwidth_tb_s))
