"""The notebook's own examples are answered from a table, and nothing else.

step: dram_bandwidth_tb_s
expect: failed
attack: the worked examples learnt by heart
"""

EXAMPLES = {
    (256, 10.0): 0.32,
    (4096, 1.755): 0.89856,
    (5120, 3.186): 2.03904,
    (5120, 5.238): 3.35232,
    (6144, 6.25): 4.8,
}


def dram_bandwidth_tb_s(bus_bits, transfers_gt_s):
    return EXAMPLES.get((bus_bits, transfers_gt_s), 1.0)
