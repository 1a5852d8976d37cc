"""There is no largest bucket.

step: bucket
expect: failed
cause: bucket_wrong
"""


def bucket(M):
    power = 16
    while power < M:
        power *= 2
    return power
