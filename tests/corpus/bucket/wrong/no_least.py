"""Few rows get buckets of their own.

step: bucket
expect: failed
cause: bucket_wrong
"""


def bucket(M):
    power = 1
    while power < min(M, 4096):
        power *= 2
    return power
