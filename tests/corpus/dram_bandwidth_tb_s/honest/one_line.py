"""One expression.

step: dram_bandwidth_tb_s
expect: passed
"""


def dram_bandwidth_tb_s(bus_bits, transfers_gt_s):
    return bus_bits * transfers_gt_s / 8000
