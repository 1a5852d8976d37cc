"""A NumPy number is returned.

step: dram_bandwidth_tb_s
expect: passed
"""


def dram_bandwidth_tb_s(bus_bits, transfers_gt_s):
    import numpy as np

    return np.float64(bus_bits) / 8 * transfers_gt_s * 1e-3
