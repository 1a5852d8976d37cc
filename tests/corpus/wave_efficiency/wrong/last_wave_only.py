"""The share of the last wave.

step: wave_efficiency
expect: failed
cause: waves_wrong
"""


def wave_efficiency(num_tiles, num_sms):
    return (num_tiles % num_sms or num_sms) / num_sms
