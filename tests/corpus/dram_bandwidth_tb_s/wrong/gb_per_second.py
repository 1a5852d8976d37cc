"""The result is in GB/s.

step: dram_bandwidth_tb_s
expect: failed
cause: unit_wrong
"""


def dram_bandwidth_tb_s(bus_bits, transfers_gt_s):
    return bus_bits / 8 * transfers_gt_s
