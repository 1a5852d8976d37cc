"""Waves are rounded down, but to one at least.

step: wave_efficiency
expect: failed
cause: grid_floor
"""


def wave_efficiency(num_tiles, num_sms):
    waves = max(1, num_tiles // num_sms)
    return num_tiles / (waves * num_sms)
