"""In plain operations and bytes a second.

step: attainable_tflops
expect: passed
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    flops = min(peak_tflops * 1e12, intensity * (bandwidth_tb_s * 1e12))
    return flops / 1e12
