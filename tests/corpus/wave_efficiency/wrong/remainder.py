"""The remainder as a share: 0 for whole waves.

step: wave_efficiency
expect: failed
cause: waves_wrong
"""


def wave_efficiency(num_tiles, num_sms):
    return num_tiles % num_sms / num_sms
