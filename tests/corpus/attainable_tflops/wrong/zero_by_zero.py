"""The rate is computed from two times, and no operations take no time.

step: attainable_tflops
expect: failed|error
cause: crashed
"""


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    compute = 1 / peak_tflops
    memory = 1 / (intensity * bandwidth_tb_s)
    return 1 / max(compute, memory)
