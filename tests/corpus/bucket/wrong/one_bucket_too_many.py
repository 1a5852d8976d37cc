"""The largest bucket is 8192.

step: bucket
expect: failed
cause: bucket_wrong
"""


def bucket(M):
    power = 16
    while power < min(M, 8192):
        power *= 2
    return power
