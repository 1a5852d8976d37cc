"""Values that claim to equal everything.

step: merge
expect: failed|refused
attack: a subclass whose comparison is always true
"""

import torch


class Pleasing(float):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def merge(m1, l1, m2, l2):
    return Pleasing(0), Pleasing(0)
