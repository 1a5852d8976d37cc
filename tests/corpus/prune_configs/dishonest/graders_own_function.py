"""The grader's own rule is imported.

step: prune_configs
expect: error|refused|failed
attack: the answer computed by the grader's module
"""

from autograder.steps.calls import Configs
from autograder.steps.choosing import _pruned


def prune_configs(configs, named_args, **kwargs):
    entries = tuple(
        {**c.kwargs, "num_warps": c.num_warps, "num_stages": c.num_stages} for c in configs
    )
    return [configs[c.index] for c in _pruned(Configs(entries), named_args, kwargs["gpu"])]
