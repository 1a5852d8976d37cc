"""The bucket is never doubled in the loop.

step: bucket
expect: timed_out
cause: timed_out
"""


def bucket(M):
    power = 16
    while power < min(M, 4096):
        power * 2
    return power
