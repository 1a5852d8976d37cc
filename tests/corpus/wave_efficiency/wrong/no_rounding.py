"""Waves are not rounded.

step: wave_efficiency
expect: failed
cause: waves_wrong
"""


def wave_efficiency(num_tiles, num_sms):
    waves = num_tiles / num_sms
    return num_tiles / (waves * num_sms)
