"""The share that is lost.

step: wave_efficiency
expect: failed
cause: waves_wrong
"""


def wave_efficiency(num_tiles, num_sms):
    waves = -(-num_tiles // num_sms)
    return 1 - num_tiles / (waves * num_sms)
