"""Percent.

step: wave_efficiency
expect: failed
cause: waves_wrong
"""


def wave_efficiency(num_tiles, num_sms):
    waves = -(-num_tiles // num_sms)
    return 100 * num_tiles / (waves * num_sms)
