"""Every step has a name and a print.

step: dram_bandwidth_tb_s
expect: passed
"""


def dram_bandwidth_tb_s(bus_bits, transfers_gt_s):
    bits = bus_bits * transfers_gt_s * 1e9
    nbytes = bits / 8
    print("bytes a second:", nbytes)
    return nbytes / 10**12
