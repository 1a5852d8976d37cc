"""As the solution.

step: wave_efficiency
expect: passed
"""


def wave_efficiency(num_tiles, num_sms):
    waves = -(-num_tiles // num_sms)
    return num_tiles / (waves * num_sms)
