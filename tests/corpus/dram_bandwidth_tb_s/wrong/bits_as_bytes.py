"""A wire's bit is taken for a byte.

step: dram_bandwidth_tb_s
expect: failed
cause: unit_wrong
"""


def dram_bandwidth_tb_s(bus_bits, transfers_gt_s):
    return bus_bits * transfers_gt_s / 1e3
