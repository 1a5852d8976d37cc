"""Triton's interpreter, made safe and honest: an address check on every load and store.

Every load, store, block pointer, descriptor and atomic of the interpreter funnels into four
builder methods; they are wrapped here. An access outside every tensor given to the kernel is
reported with its source line and left out, so that it can neither crash the process nor go
unseen. Masked lanes without `other`, which the language leaves undefined, read as NaN.
Tried on Triton 3.7.1. Must never change the value of an access that is in bounds.
"""

import dataclasses
import inspect
import sys
from dataclasses import dataclass

import numpy as np
import triton
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

MAX_REPORTS = 20


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
        do not overlap, which all that PyTorch makes are.
        """
        rest = addresses.astype(np.int64) - self.start
        inside = np.full(rest.shape, all(self.shape))
        for axis in sorted(range(len(self.shape)), key=lambda i: -self.strides[i]):
            if self.strides[axis] == 0 or self.shape[axis] == 1:
                continue
            index, rest = np.divmod(rest, self.strides[axis])
            inside &= (index >= 0) & (index < self.shape[axis])
        return inside & (rest == 0)


class AddressCheck:
    """What the kernels of one call did to memory: `violations`, `unfilled` loads, `launches`."""

    def __init__(self, folder: str):
        self.folder = folder  # frames in files below it are the learner's
        self.violations: list[dict] = []
        self.unfilled: list[dict] = []
        self.launches: list[dict] = []
        self.observer = None
        self._views: list[_View] = []
        self._touched: dict = {}  # the launch that is running

    # --- hooks --------------------------------------------------------------------------------

    def install(self) -> None:
        """Wraps the interpreter of this process. Once, before the learner's code is loaded."""
        builder = triton_interpreter.InterpreterBuilder
        load, store = builder.create_masked_load, builder.create_masked_store
        rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas
        check = self

        def create_masked_load(self, ptrs, mask, other, *rest, **named):
            if other is None and not mask.data.all():
                other = check._undefined(ptrs)
            return load(self, ptrs, check._checked("load", ptrs, mask), other, *rest, **named)

        def create_masked_store(self, ptrs, value, mask, *rest, **named):
            return store(self, ptrs, value, check._checked("store", ptrs, mask), *rest, **named)

        def create_atomic_rmw(self, op, ptr, value, mask, *rest):
            return rmw(self, op, ptr, value, check._checked("atomic", ptr, mask), *rest)

        def create_atomic_cas(self, ptr, *rest):
            everywhere = _handle(np.ones(ptr.data.shape, bool), tl.int1)
            if not check._checked("atomic", ptr, everywhere).data.all():
                raise IndexError("atomic_cas outside of every tensor given to the kernel")
            return cas(self, ptr, *rest)

        builder.create_masked_load = create_masked_load
        builder.create_masked_store = create_masked_store
        builder.create_atomic_rmw = create_atomic_rmw
        builder.create_atomic_cas = create_atomic_cas
        self._wrap_launches()

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
            try:
                check.launches.append(_describe_launch(self, bound))
                check._touched = check.launches[-1]
                launch(self, *args, **kwargs)
            finally:
                check._views = []
                if check.observer is not None:
                    check.observer.after_launch(tensors)

        triton_interpreter.GridExecutor.__call__ = __call__

    # --- one access ---------------------------------------------------------------------------

    def _checked(self, kind: str, ptrs, mask):
        """The mask without the lanes that lie outside every tensor of the launch."""
        addresses = ptrs.data
        active = np.broadcast_to(mask.data, addresses.shape)
        self._note(kind, addresses, active)
        bad = active.copy()
        for view in self._views:
            if not bad.any():
                break
            bad &= ~(view.near(addresses) & view.contains(addresses))
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
            names = self._touched["loads" if kind == "load" else "stores"]
            if view.near(first) and view.name not in names:
                names.append(view.name)

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
        """What a masked lane reads when the kernel gave no `other`: made visible as NaN."""
        where = self._where()
        if where not in self.unfilled and len(self.unfilled) < MAX_REPORTS:
            self.unfilled.append(where)
        element = ptrs.get_element_ty()
        dtype = triton_interpreter._get_np_dtype(element)
        nothing = np.nan if dtype.kind == "f" else 0
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


def speed_up() -> None:
    """Turns off the interpreter's overflow checks: half the time, and nobody reads their result."""
    builder = triton_interpreter.interpreter_builder
    builder.options = dataclasses.replace(builder.options, sanitize_overflow=False)


@triton.jit
def _warm_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(x_ptr + offsets, x, mask=offsets < n)


def warm_up() -> None:
    """One small launch, so that every fork starts with the interpreter already patched."""
    import torch

    _warm_kernel[(1,)](torch.zeros(8), 8, BLOCK=8)
