"""Sees whose work a result is, by watching it happen rather than by reading the source.

Every tensor that appears during the call is followed by its storage. A storage is clean when it
came from the operands or from nothing (allocation) through views, casts and copies. It is foreign
when a library operator computed it, or when it was filled where no operator was seen (NumPy,
ctypes, another thread); a copy taken when it was last seen shows the latter. A kernel given foreign
memory, a foreign result, and a result that no kernel wrote are not the learner's own kernel at
work. What the submission allocates is put between margins, and is NaN until it is written.

It runs beside the submission and can be fooled by code that aims at it; right and wrong are
decided elsewhere. Must never see an expected value.
"""

import ctypes
import dis
import sys
import types
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves

from autograder.shared import MARGIN, UNWRITTEN
from autograder.worker.own_operators import OwnOperators

COPIED_BYTES = 64 * 2**20
SCALARS = 32  # numbers that may pass between tensors and Python before it is called a detour

UNDEFINED = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
FACTORIES = UNDEFINED | {
    "zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like",
    "new_full", "arange", "scalar_tensor",
}  # fmt: skip
ORDINARY = {
    # views
    "alias", "as_strided", "chunk", "detach", "diagonal", "expand", "flatten", "lift_fresh",
    "movedim", "narrow", "permute", "reshape", "_reshape_alias", "select", "slice", "split",
    "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unflatten", "unfold", "unsqueeze",
    "view", "view_as", "_unsafe_view",
    # copies, casts, padding
    "cat", "clone", "constant_pad_nd", "contiguous", "copy", "copy_", "fill", "fill_", "stack",
    "_to_copy", "to", "zero", "zero_",
}  # fmt: skip

NO_COMPILER = "torch.compile is not accepted in this course's exercises"
UNSEEN = "memory filled outside of PyTorch's operators (NumPy, ctypes or another thread)"


@dataclass
class _Storage:
    """What is known of one storage. Holding `storage` keeps its identity from being reused."""

    storage: torch.UntypedStorage
    contents: bytes
    foreign: dict | None = None  # what made it foreign, and where
    kernel_work: bool = False


class Observer(OwnOperators):
    """Context manager around the call; `refusal` is None or the first foreign work that counted."""

    def __init__(self, folder: str, operands: list[torch.Tensor], allowed: list[str]):
        super().__init__()
        self.folder = folder  # files below it are the learner's
        self.ordinary = ORDINARY | set(allowed)
        self.refusal: dict | None = None
        self.no_kernel = False  # set by `judge`: no kernel changed the memory of a result
        self._in_kernel = False
        self._scalars = 0
        self._storages: dict[int, _Storage] = {}
        self._allocated: list[tuple[torch.Tensor, int]] = []  # with margins, elements between them
        for tensor in operands:
            self._see(tensor)

    # --- operators ----------------------------------------------------------------------------

    def operator(self, func, args, kwargs):
        """Runs an operator of PyTorch's, and follows what it takes and makes."""
        if self._in_kernel:
            return func(*args, **kwargs)
        name = func.overloadpacket.__name__
        inputs = [self._known(t) for t in _tensors((args, kwargs))]
        result = func(*args, **kwargs)
        if name in FACTORIES:
            result = self._between_margins(result, name in UNDEFINED)
            self._see(result)
            return result
        self._count_scalars(name, args)
        foreign = next((s.foreign for s in inputs if s.foreign), None)
        if foreign is None and name not in self.ordinary and not _printing():
            foreign = self._place(f"the operator torch.{name}")
        for tensor in _tensors(result):
            known = self._see(tensor)
            known.foreign = known.foreign or foreign
            known.kernel_work |= any(s.kernel_work for s in inputs)
        return result

    def _between_margins(self, made: torch.Tensor, undefined: bool) -> torch.Tensor:
        span = sum((n - 1) * s for n, s in zip(made.shape, made.stride())) + 1
        span = span if made.numel() else 0
        base = torch.empty(span + 2 * MARGIN, dtype=made.dtype, device=made.device)
        _mark_unwritten(base)
        self._allocated.append((base, span))
        view = base.as_strided(made.shape, made.stride(), MARGIN)
        if not undefined:
            view.copy_(made)
        return view

    def _count_scalars(self, name: str, args) -> None:
        """Element-by-element work in Python moves every number through a scalar."""
        one_element = isinstance(args[0], torch.Tensor) and args[0].numel() == 1 if args else False
        if name == "_local_scalar_dense" or (name in ("fill_", "copy_") and one_element):
            self._scalars += not _printing()
        if self._scalars == SCALARS:
            self._refuse(self._place("single numbers computed in Python"), "the result")

    # --- kernels ------------------------------------------------------------------------------

    def before_launch(self, kernel, tensors: dict[str, torch.Tensor]) -> None:
        """Called with the Python function of a kernel and the tensors it is about to get."""
        self._in_kernel = True
        module = _host_module(kernel, set())
        if module:
            self._refuse(self._place(f"{module} inside the kernel"), f"`{kernel.__name__}`")
        for name, tensor in tensors.items():
            known = self._current(tensor)
            if known.foreign:
                self._refuse(known.foreign, f"the kernel's argument `{name}`")

    def watched(self, function):
        """A function of the learner's that is called during a launch, but is no part of the kernel."""

        def watched(*args, **kwargs):
            self._in_kernel = False
            try:
                return function(*args, **kwargs)
            finally:
                self._in_kernel = True

        return watched

    def after_launch(self, tensors: dict[str, torch.Tensor]) -> None:
        """Called when the kernel has ended, also by an error."""
        self._in_kernel = False
        for tensor in tensors.values():
            known = self._known(tensor)
            before = known.contents
            self._see(tensor)
            known.kernel_work |= known.contents != before

    def judge(self, result: torch.Tensor, name: str) -> None:
        """Called after the call with what the function returned, and with each gradient."""
        known = self._current(result)
        if known.foreign:
            self._refuse(known.foreign, name)
        self.no_kernel |= not known.kernel_work

    def overrun(self) -> bool:
        """Whether a margin of anything that the submission allocated was written."""
        for base, span in self._allocated:
            bits = {2: torch.int16, 4: torch.int32}.get(base.element_size())
            if bits is None or str(base.dtype).removeprefix("torch.") not in UNWRITTEN:
                continue
            margins = base.view(bits)[:MARGIN], base.view(bits)[MARGIN + span :]
            unwritten = torch.empty_like(base[:1])
            _mark_unwritten(unwritten)
            if any((margin != unwritten.view(bits)).any() for margin in margins):
                return True
        return False

    def refuse_compiler(self, *args, **kwargs):
        """Stands in for torch.compile, whose kernels are not the learner's."""
        self._refuse(self._place("torch.compile"), "the result")
        raise RuntimeError(NO_COMPILER)

    def _refuse(self, foreign: dict, used_as: str) -> None:
        if self.refusal is None:
            self.refusal = {**foreign, "used_as": used_as}

    # --- storages -----------------------------------------------------------------------------

    def _see(self, tensor: torch.Tensor) -> _Storage:
        storage = tensor.untyped_storage()
        contents = _contents(storage)
        known = self._storages.get(storage._cdata)
        if known is None:
            known = self._storages[storage._cdata] = _Storage(storage, contents)
        known.contents = contents
        return known

    def _known(self, tensor: torch.Tensor) -> _Storage:
        """What is known of a tensor's storage. One never seen before was made out of sight."""
        known = self._storages.get(tensor.untyped_storage()._cdata)
        if known is None:
            known = self._see(tensor)
            if tensor.numel() > 1:  # a single number made by torch.tensor is ordinary
                known.foreign = self._place(UNSEEN)
        return known

    def _current(self, tensor: torch.Tensor) -> _Storage:
        """As `_known`, after comparing the storage with what was last seen in it."""
        known = self._known(tensor)
        if known.foreign is None and _contents(known.storage) != known.contents:
            known.foreign = self._place(UNSEEN)
        return known

    def _place(self, what: str) -> dict:
        return at_running_line(what, self.folder)


def at_running_line(what: str, folder: str) -> dict:
    """`what` together with the learner's line that is running: one of a file below `folder`."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith(folder):
            return {"what": what, "file": frame.f_code.co_filename, "line": frame.f_lineno}
        frame = frame.f_back
    return {"what": what, "file": None, "line": None}


def _tensors(tree) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _contents(storage: torch.UntypedStorage) -> bytes:
    """A copy of the storage; of one too large to copy, nothing, so that it always looks the same."""
    if not 0 < storage.nbytes() <= COPIED_BYTES:
        return b""
    if storage.device.type != "cpu":
        with _disable_current_modes():
            storage = storage.cpu()
    return ctypes.string_at(storage.data_ptr(), storage.nbytes())


def _mark_unwritten(base: torch.Tensor) -> None:
    pattern = UNWRITTEN.get(str(base.dtype).removeprefix("torch."))
    if pattern is not None:
        bits = 8 * base.element_size()
        signed = pattern - 2**bits if pattern >= 2 ** (bits - 1) else pattern
        base.view({16: torch.int16, 32: torch.int32}[bits]).fill_(signed)
    elif base.dtype.is_floating_point:
        base.fill_(torch.nan)
    elif base.dtype is not torch.bool:
        base.fill_(torch.iinfo(base.dtype).max)


def _printing() -> bool:
    """Whether a tensor is being turned into text, which takes operators of all kinds."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.endswith("torch/_tensor_str.py"):
            return True
        frame = frame.f_back
    return False


def _host_module(function, seen: set) -> str | None:
    """A module other than Triton's that a kernel's code names: it runs in the interpreter only."""
    function = getattr(function, "fn", function)
    code = getattr(function, "__code__", None)
    if code is None or code in seen:
        return None
    seen.add(code)
    if "handle" in code.co_names:
        return "the interpreter's NumPy arrays (.handle)"
    for name in code.co_names:
        value, found = function.__globals__.get(name), None
        if isinstance(value, types.ModuleType):
            if value.__name__.split(".")[0] not in ("triton", "math"):
                found = value.__name__
        elif isinstance(value, types.FunctionType) or hasattr(value, "rewriter"):
            found = _host_module(value, seen)
        if found and _reads_global(code, name):
            return found
    return None


def _reads_global(code: types.CodeType, name: str) -> bool:
    """Whether code means a global by a name, and not an attribute: `zeros`, not `tl.zeros`."""
    instructions = dis.get_instructions(code)
    return any(i.opname == "LOAD_GLOBAL" and i.argval == name for i in instructions)
