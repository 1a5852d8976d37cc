"""The rate stands below the fraction line: seconds for a TB.

step: dram_bandwidth_tb_s
expect: failed
cause: quotient_inverted
"""


def dram_bandwidth_tb_s(bus_bits, transfers_gt_s):
    return 1e3 / (bus_bits / 8 * transfers_gt_s)
