"""A TB is taken for 1,024 GB.

step: dram_bandwidth_tb_s
expect: failed
cause: unit_wrong
"""


def dram_bandwidth_tb_s(bus_bits, transfers_gt_s):
    return bus_bits / 8 * transfers_gt_s / 1024
