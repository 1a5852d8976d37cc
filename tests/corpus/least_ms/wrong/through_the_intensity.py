"""The intensity is computed on the way, which no bytes do not have.

step: least_ms
expect: failed|error
cause: crashed
"""


def least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s):
    intensity = flop / bytes_moved
    attainable = min(peak_tflops, intensity * bandwidth_tb_s)
    return flop / (attainable * 1e12) * 1e3
