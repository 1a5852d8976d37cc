"""One wave more than fit, also when none is left over.

step: wave_efficiency
expect: failed
cause: waves_wrong
"""


def wave_efficiency(num_tiles, num_sms):
    waves = num_tiles // num_sms + 1
    return num_tiles / (waves * num_sms)
