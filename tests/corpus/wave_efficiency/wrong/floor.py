"""Waves are rounded down.

step: wave_efficiency
expect: error
cause: grid_floor
"""


def wave_efficiency(num_tiles, num_sms):
    waves = num_tiles // num_sms
    return num_tiles / (waves * num_sms)
