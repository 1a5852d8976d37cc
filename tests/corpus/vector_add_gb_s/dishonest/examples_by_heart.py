"""The notebook's own examples are answered from a table, and nothing else.

step: vector_add_gb_s
expect: failed
attack: the worked examples learnt by heart
"""

EXAMPLES = {(1_000_000_000, 4, 12): 1000.0}


def vector_add_gb_s(n, itemsize, ms):
    return EXAMPLES.get((n, itemsize, ms), 1.0)
