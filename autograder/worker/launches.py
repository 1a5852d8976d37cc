"""Watches launches on a GPU: which kernels run, on which tensors, and that each of them ends well.

Waits for every kernel, so that an error is told of the launch that made it and not of a later line.
What single loads and stores do cannot be seen on a GPU: margins and the result tell of them.
Must never run in a process that has Triton's interpreter.
"""

import inspect

import torch
from triton.runtime import jit


class Launches:
    """The launches of one run. Its attributes are those of address_check.AddressCheck, for the
    report; those of single accesses stay empty."""

    def __init__(self):
        self.launches: list[dict] = []
        self.violations = self.unfilled = self.races = self.hints = ()
        self.loaded = self.stored = 0
        self.observer = None

    def install(self) -> None:
        """Wraps Triton's launcher in this process. Once, before the learner's code is loaded."""
        launch, watcher = jit.JITFunction.run, self

        def run(function, *args, grid, warmup, **kwargs):
            if warmup:
                return launch(function, *args, grid=grid, warmup=warmup, **kwargs)
            given = {n: v for n, v in kwargs.items() if n in function.arg_names}
            bound = inspect.signature(function.fn).bind(*args, **given)
            bound.apply_defaults()
            tensors = {n: t for n, t in bound.arguments.items() if isinstance(t, torch.Tensor)}
            bases = {n: d.base for n, d in bound.arguments.items() if hasattr(d, "block_shape")}
            tensors |= bases
            watcher.observer.before_launch(function.fn, tensors)
            if callable(grid):
                grid = watcher.observer.watched(grid)
            try:
                made = launch(function, *args, grid=grid, warmup=warmup, **kwargs)
                torch.cuda.synchronize()
                watcher._note(function, bound.arguments, grid, kwargs)
            finally:
                watcher.observer.after_launch(tensors)
            return made

        jit.JITFunction.run = run

    def _note(self, function, arguments: dict, grid, kwargs: dict) -> None:
        """Kernel, grid and tile sizes of a launch, for the diagnosis."""
        constexprs = {p.name for p in function.params if p.is_constexpr}
        sizes = {n: v for n, v in arguments.items() if n in constexprs and type(v) is int}
        shape = grid({**arguments, **kwargs}) if callable(grid) else grid
        self.launches.append(
            {
                "kernel": function.fn.__name__,
                "grid": [int(g) for g in shape],
                "constexprs": sizes,
                "loads": [],
                "stores": [],
            }
        )
