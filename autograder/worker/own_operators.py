"""Dispatch modes that see what an operator does which the submission defined with `torch.library`.

PyTorch leaves a mode while it runs an operator, and whatever that calls would go unseen. For one of
its own that is right; for the submission's, what it does inside is the submission's work. Must never
judge an operator: whoever derives from it does.
"""

import functools
import types

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Operators of any other namespace are the submission's: this is asked before it is loaded.
LIBRARY = frozenset(name.partition("::")[0] for name in torch._C._dispatch_get_all_op_names())


class OwnOperators(TorchDispatchMode):
    """Hands every operator of PyTorch's to `operator(func, args, kwargs)`, which runs it; also those
    that an operator of the submission's calls."""

    def __init__(self):
        super().__init__()
        self._closed = False  # an operator of the submission's own is about to run, unseen

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False saves the import of torch's compiler, which takes longer than all the cases."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace in LIBRARY:
            return self.operator(func, args, kwargs or {})
        self._closed = True  # until its own function begins
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self._closed = False

    def open_operators(self) -> None:
        """Once, before the submission is loaded: its operators' functions run inside this mode."""
        register, mode = torch.library.Library.impl, self

        def impl(library, op_name, function, *args, **kwargs):
            @functools.wraps(function)
            def seen(*inputs, **named):
                if not mode._closed:
                    return function(*inputs, **named)
                mode._closed = False
                with mode:
                    return function(*inputs, **named)

            given = seen if isinstance(function, types.FunctionType) else function
            return register(library, op_name, given, *args, **kwargs)

        torch.library.Library.impl = impl
