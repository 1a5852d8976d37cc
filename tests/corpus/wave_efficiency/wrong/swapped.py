"""The arguments exchanged.

step: wave_efficiency
expect: failed
cause: waves_wrong
"""


def wave_efficiency(num_tiles, num_sms):
    waves = -(-num_sms // num_tiles)
    return num_sms / (waves * num_tiles)
