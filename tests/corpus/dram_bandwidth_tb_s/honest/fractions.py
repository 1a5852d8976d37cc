"""Exact fractions, turned into a float at the end.

step: dram_bandwidth_tb_s
expect: passed
"""


def dram_bandwidth_tb_s(bus_bits, transfers_gt_s):
    from fractions import Fraction

    return float(Fraction(bus_bits, 8) * Fraction(transfers_gt_s) / 1000)
