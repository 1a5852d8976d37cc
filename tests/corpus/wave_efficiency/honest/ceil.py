"""With math.ceil.

step: wave_efficiency
expect: passed
"""

import math


def wave_efficiency(num_tiles, num_sms):
    return num_tiles / (math.ceil(num_tiles / num_sms) * num_sms)
