"""With divmod.

step: wave_efficiency
expect: passed
"""


def wave_efficiency(num_tiles, num_sms):
    full, rest = divmod(num_tiles, num_sms)
    return num_tiles / ((full + bool(rest)) * num_sms)
