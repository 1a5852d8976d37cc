"""A number that says it equals any other.

step: wave_efficiency
expect: failed|refused
attack: a number whose comparisons are always true
"""


class Any(float):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __sub__(self, other):
        return 0.0


def wave_efficiency(num_tiles, num_sms):
    return Any(0.5)
