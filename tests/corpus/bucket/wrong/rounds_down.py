"""The largest power of two that is not above M.

step: bucket
expect: failed
cause: bucket_wrong
"""


def bucket(M):
    power = 16
    while 2 * power <= min(M, 4096):
        power *= 2
    return power
