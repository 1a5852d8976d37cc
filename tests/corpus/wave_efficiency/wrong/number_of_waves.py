"""The number of waves.

step: wave_efficiency
expect: failed
cause: waves_wrong|wrong_type
"""


def wave_efficiency(num_tiles, num_sms):
    return -(-num_tiles // num_sms)
