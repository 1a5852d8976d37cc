"""A power of two gets the next bucket.

step: bucket
expect: failed
cause: bucket_wrong
"""


def bucket(M):
    power = 16
    while power <= M and power < 4096:
        power *= 2
    return power
