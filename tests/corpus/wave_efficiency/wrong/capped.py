"""Full as soon as there are enough tiles for one wave.

step: wave_efficiency
expect: failed
cause: waves_wrong
"""


def wave_efficiency(num_tiles, num_sms):
    return min(1.0, num_tiles / num_sms)
