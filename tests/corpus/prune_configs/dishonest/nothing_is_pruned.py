"""The list comes back as it is: tuning is slow, and nobody sees a wrong result.

step: prune_configs
expect: failed
attack: no work done
"""


def prune_configs(configs, named_args, **kwargs):
    return list(configs)
