"""Wave by wave.

step: wave_efficiency
expect: passed
"""


def wave_efficiency(num_tiles, num_sms):
    left, waves = num_tiles, 0
    while left > 0:
        left -= num_sms
        waves += 1
    return num_tiles / num_sms / waves
