"""Watches what kernels do to memory in Triton's interpreter.

Every load, store, block pointer, descriptor and atomic of the interpreter funnels into four
builder methods; they are wrapped here. An access outside every tensor given to the kernel is
reported with its source line and left out, so that it can neither crash the process nor go
unseen. Masked lanes without `other`, which the language leaves undefined, read as NaN. Bytes are
counted; races and untrue hints are found. Programs run in the order that the grader asks for.
Tried on Triton 3.6.0, 3.7.1, 3.8.0 and 3.9.0. Must never change the value of an access that is in
bounds.
"""

import functools
import inspect
import math
import sys
from dataclasses import dataclass

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

from autograder.worker import bfloat16, hints
from autograder.worker.races import RaceCheck

MAX_REPORTS = 20
MAX_SHUFFLED = 1 << 20  # programs of one launch


@dataclass
class _View:
    """A tensor given to the kernel: its storage's byte range, and its elements within."""

    name: str
    storage_start: int
    storage_end: int
    start: int
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes

    @functools.cached_property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.itemsize

    @functools.cached_property
    def dense(self) -> bool:
        """Whether its elements fill a piece of memory, in whatever order."""
        expected = self.itemsize
        for stride, length in sorted(zip(self.strides, self.shape)):
            if length != 1:
                if stride != expected:
                    return False
                expected *= length
        return True

    @classmethod
    def of(cls, name, tensor):
        storage = tensor.untyped_storage()
        size = tensor.element_size()
        return cls(
            name,
            storage.data_ptr(),
            storage.data_ptr() + storage.nbytes(),
            tensor.data_ptr(),
            size,
            tuple(tensor.shape),
            tuple(s * size for s in tensor.stride()),
        )

    def near(self, addresses: np.ndarray) -> np.ndarray:
        return (addresses >= self.storage_start) & (addresses < self.storage_end)

    def contains(self, addresses: np.ndarray) -> np.ndarray:
        """Which addresses are those of elements of the view.

        Divides by the strides from the largest to the smallest: exact for every view whose rows
        do not overlap, which all that PyTorch makes are. Of a dense view it is every element's
        address from the first to the last.
        """
        rest = addresses.astype(np.int64) - self.start
        if self.dense:
            return (rest >= 0) & (rest < self.bytes) & (rest % self.itemsize == 0)
        inside = np.full(rest.shape, all(self.shape))
        for axis in sorted(range(len(self.shape)), key=lambda i: -self.strides[i]):
            if self.strides[axis] == 0 or self.shape[axis] == 1:
                continue
            index, rest = np.divmod(rest, self.strides[axis])
            inside &= (index >= 0) & (index < self.shape[axis])
        return inside & (rest == 0)


class AddressCheck:
    """What the kernels of one run did to memory, and with their hints, for the report.

    `order` is the seed of the order in which the programs of a launch run; None for their own.
    `fill` is what masked lanes without `other` read.
    """

    def __init__(self, folder: str, order: int | None, fill: float):
        self.folder = folder  # frames in files below it are the learner's
        self.violations: list[dict] = []
        self.unfilled: list[dict] = []
        self.launches: list[dict] = []
        self.races: list[dict] = []
        self.hints: list[dict] = []
        self.loaded = self.stored = 0  # bytes
        self.observer = None
        self._order = None if order is None else np.random.default_rng(order)
        self._fill = fill
        self._views: list[_View] = []
        self._touched: dict = {}  # the launch that is running
        self._races = RaceCheck()

    # --- hooks --------------------------------------------------------------------------------

    def install(self) -> None:
        """Wraps the interpreter of this process. Once, before the learner's code is loaded."""
        builder = triton_interpreter.InterpreterBuilder
        load, store = builder.create_masked_load, builder.create_masked_store
        rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas
        check = self

        def create_masked_load(self, ptrs, mask, other, *rest, **named):
            if other is None and not np.all(mask.data):
                other = check._undefined(ptrs)
            return load(self, ptrs, check._checked("load", ptrs, mask), other, *rest, **named)

        def create_masked_store(self, ptrs, value, mask, *rest, **named):
            mask = check._checked("store", ptrs, mask, value)
            return store(self, ptrs, value, mask, *rest, **named)

        def create_atomic_rmw(self, op, ptr, value, mask, *rest):
            if value.data.dtype.kind != "f" and value.dtype.scalar != tl.bfloat16:
                check._races.synchronised()
            return rmw(self, op, ptr, value, check._checked("atomic", ptr, mask), *rest)

        def create_atomic_cas(self, ptr, *rest):
            check._races.synchronised()
            everywhere = _handle(np.ones(ptr.data.shape, bool), tl.int1)
            if not check._checked("atomic", ptr, everywhere).data.all():
                raise IndexError("atomic_cas outside of every tensor given to the kernel")
            return cas(self, ptr, *rest)

        builder.create_masked_load = create_masked_load
        builder.create_masked_store = create_masked_store
        builder.create_atomic_rmw = create_atomic_rmw
        builder.create_atomic_cas = create_atomic_cas
        for name in ("create_atomic_load", "create_atomic_store", "create_atomic_poll"):
            if hasattr(builder, name):  # Triton 3.9
                setattr(builder, name, self._synchronising(getattr(builder, name)))
        self._wrap_launches()
        self._wrap_order()
        self._wrap_hints()

    def _synchronising(self, method):
        def synchronising(*args):
            self._races.synchronised()
            return method(*args)

        return synchronising

    def _wrap_launches(self) -> None:
        launch = triton_interpreter.GridExecutor.__call__
        check = self

        def __call__(self, *args, **kwargs):
            named = {n: v for n, v in kwargs.items() if n in self.arg_names}
            bound = inspect.getcallargs(self.fn, *args, **named)
            tensors = {n: t for n, t in bound.items() if _is_tensor(t)}
            tensors |= {n: d.base for n, d in bound.items() if hasattr(d, "block_shape")}
            if check.observer is not None:
                check.observer.before_launch(self.fn, tensors)
            check._views = [_View.of(n, t) for n, t in tensors.items()]
            check._races = RaceCheck()
            grid, hooks = self.grid, self.pre_run_hooks
            if check.observer is not None:
                self.grid = check.observer.watched(grid) if callable(grid) else grid
                self.pre_run_hooks = [check.observer.watched(hook) for hook in hooks]
            try:
                check.launches.append(_describe_launch(self, bound))
                check._touched = check.launches[-1]
                launch(self, *args, **kwargs)
                check._report_race()
            finally:
                self.grid, self.pre_run_hooks = grid, hooks
                check._views = []
                if check.observer is not None:
                    check.observer.after_launch(tensors)

        triton_interpreter.GridExecutor.__call__ = __call__

    def _wrap_order(self) -> None:
        """The interpreter counts through the grid; each program it names stands for another."""
        builder = triton_interpreter.InterpreterBuilder
        set_dim, set_idx = builder.set_grid_dim, builder.set_grid_idx
        check = self
        if self._order is None:
            return

        def set_grid_dim(self, *grid):
            self.shuffled = check._order.permutation(min(math.prod(grid), MAX_SHUFFLED))
            return set_dim(self, *grid)

        def set_grid_idx(self, *index):
            number = int(np.ravel_multi_index(index, self.grid_dim))
            if number < len(self.shuffled):
                number = self.shuffled[number]
            return set_idx(self, *map(int, np.unravel_index(number, self.grid_dim)))

        builder.set_grid_dim, builder.set_grid_idx = set_grid_dim, set_grid_idx

    def _wrap_hints(self) -> None:
        handle = triton_interpreter.TensorHandle
        keep = handle.set_attr
        check = self

        def set_attr(self, key, values):
            if key in hints.NAMES:
                check._check_hint(self, key, [int(value) for value in values])
            return keep(self, key, values)

        handle.set_attr = set_attr

    # --- one access ---------------------------------------------------------------------------

    def _checked(self, kind: str, ptrs, mask, value=None):
        """The mask without the lanes that lie outside every tensor of the launch."""
        addresses = ptrs.data
        active = np.broadcast_to(mask.data, addresses.shape)
        self._note(kind, addresses, active)
        self._count(kind, ptrs, active)
        where = self._where()
        self._races.note(kind, addresses, active, where, None if value is None else value.data)
        bad = active.copy()
        for view in self._views:
            if not bad.any():
                break
            near = view.near(addresses)
            if near.any():
                bad &= ~(near & view.contains(addresses))
        if not bad.any():
            return mask
        self._report(kind, addresses, active, bad)
        # Lanes inside a storage keep their access: reads see the poison in the margins, and a
        # stray write leaves its mark there. Lanes outside every storage would crash the process.
        reachable = np.zeros(addresses.shape, bool)
        for view in self._views:
            reachable |= view.near(addresses)
        return _handle(active & (reachable | ~bad), tl.int1)

    def _note(self, kind: str, addresses: np.ndarray, active: np.ndarray) -> None:
        """Remembers which arguments a launch reads and which it writes."""
        if not active.any():
            return
        first = addresses.reshape(-1)[int(np.argmax(active))]
        for view in self._views:
            for verb in ("loads", "stores") if kind == "atomic" else (f"{kind}s",):
                if view.near(first) and view.name not in self._touched[verb]:
                    self._touched[verb].append(view.name)

    def _count(self, kind: str, ptrs, active: np.ndarray) -> None:
        moved = int(active.sum()) * max(1, ptrs.get_element_ty().primitive_bitwidth // 8)
        if kind == "load":
            self.loaded += moved
        else:
            self.stored += moved

    def _report_race(self) -> None:
        if len(self.races) >= MAX_REPORTS:
            return
        race = self._races.find()
        if race:
            address = race.pop("address")
            views = (v for v in self._views if v.storage_start <= address < v.storage_end)
            argument = next((v.name for v in views), "")
            self.races.append({"argument": argument, **race})

    def _check_hint(self, handle, key: str, promised: list[int]) -> None:
        where = self._where()
        known = any(h["file"] == where["file"] and h["line"] == where["line"] for h in self.hints)
        if known or len(self.hints) >= MAX_REPORTS:
            return
        pointers = isinstance(handle.dtype.scalar, tl.pointer_type)
        step = max(1, handle.get_element_ty().primitive_bitwidth // 8) if pointers else 1
        value = hints.first_untrue(key, promised, handle.data, step)
        if value is not None:
            self.hints.append(
                {
                    "hint": hints.NAMES[key],
                    "promised": promised,
                    "value": value,
                    "program": list(triton_interpreter.interpreter_builder.grid_idx),
                    **where,
                }
            )

    def _report(self, kind, addresses, active, bad) -> None:
        if len(self.violations) >= MAX_REPORTS:
            return
        lane = tuple(int(i) for i in np.argwhere(bad)[0])
        address = addresses[lane]
        nowhere = _View("", 0, 0, 0, 1, (), ())  # a kernel without tensor arguments
        view = min(self._views, key=lambda v: _distance(v, int(address)), default=nowhere)
        self.violations.append(
            {
                "access": kind,
                "argument": view.name,
                "shape": list(view.shape),
                "program": list(triton_interpreter.interpreter_builder.grid_idx),
                "bad_lanes": int(bad.sum()),
                "lanes": int(active.sum()),
                "elements_off": (int(address) - view.start) // view.itemsize,
                **self._where(),
            }
        )

    def _undefined(self, ptrs):
        """What a masked lane reads when the kernel gave no `other`: made visible."""
        where = self._where()
        if where not in self.unfilled and len(self.unfilled) < MAX_REPORTS:
            self.unfilled.append(where)
        element = ptrs.get_element_ty()
        dtype = triton_interpreter._get_np_dtype(element)
        nothing = self._fill if dtype.kind == "f" else 0
        nothing = bfloat16.narrow(self._fill) if element == tl.bfloat16 else nothing
        return _handle(np.full(ptrs.data.shape, nothing, dtype), element)

    def _where(self) -> dict:
        """The learner's line that is running: the innermost frame of a file in the folder."""
        frame = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename.startswith(self.folder):
                return {"file": frame.f_code.co_filename, "line": frame.f_lineno}
            frame = frame.f_back
        return {"file": None, "line": None}


def _describe_launch(executor, bound) -> dict:
    """Kernel, grid and tile sizes of a launch, for the diagnosis."""
    grid = executor.grid
    if callable(grid):
        grid = grid(bound)
    sizes = {n: v for n, v in bound.items() if n in executor.constexprs and type(v) is int}
    return {
        "kernel": executor.fn.__name__,
        "grid": [int(g) for g in grid],
        "constexprs": sizes,
        "loads": [],
        "stores": [],
    }


def _handle(data, dtype):
    return triton_interpreter.TensorHandle(data, dtype)


def _is_tensor(value) -> bool:
    return hasattr(value, "data_ptr") and hasattr(value, "untyped_storage")


def _distance(view: _View, address: int) -> int:
    if view.storage_start <= address < view.storage_end:
        return 0
    return min(abs(address - view.storage_start), abs(address - view.storage_end))
