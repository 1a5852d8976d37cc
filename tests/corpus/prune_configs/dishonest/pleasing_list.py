"""The list claims to be equal to everything.

step: prune_configs
expect: failed
attack: a value that compares equal to any answer
"""


class Pleasing(list):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False


def prune_configs(configs, named_args, **kwargs):
    return Pleasing(configs)
