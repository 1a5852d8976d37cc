"""Divided with `//`: 0 or 1.

step: wave_efficiency
expect: failed
cause: wrong_type|waves_wrong
"""


def wave_efficiency(num_tiles, num_sms):
    waves = -(-num_tiles // num_sms)
    return num_tiles // (waves * num_sms)
