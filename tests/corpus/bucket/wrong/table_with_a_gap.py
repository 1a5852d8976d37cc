"""A table that ends before 4096.

step: bucket
expect: failed
cause: bucket_wrong
"""


def bucket(M):
    for power in (16, 32, 64, 128, 256, 512, 1024, 2048):
        if M <= power:
            return power
    return 2048
