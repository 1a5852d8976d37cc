"""Sees that a step whose work is plain Python over tensors calls no library product.

Everything else is the learner's own arithmetic: adding, multiplying, slicing, single numbers. A
product is refused when it is called, since its result can leave as a Python number. Like its base,
it can be fooled by code that aims at it. Must never see an expected value.
"""

import torch

from autograder.worker.observer import FACTORIES, UNDEFINED, Observer

# What `@`, matmul, einsum, tensordot, inner, linear, conv1d and attention come down to.
PRODUCTS = {
    "mm", "bmm", "mv", "dot", "vdot", "addmm", "addbmm", "baddbmm", "addmv", "matmul", "linear",
    "_addmm_activation", "_int_mm", "_scaled_mm", "_sparse_mm", "_sparse_addmm", "_trilinear",
    "convolution", "_convolution", "mkldnn_convolution", "mkldnn_linear", "_mkl_linear",
    "_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention_for_cpu",
}  # fmt: skip


class LoopObserver(Observer):
    """As Observer, for steps without a kernel."""

    def __init__(self, folder: str, operands: list[torch.Tensor], allowed: list[str]):
        super().__init__(folder, operands, allowed)
        numpy = torch.Tensor.numpy
        observer = self

        def numpy_of(tensor, *args, **kwargs):
            observer._refuse(observer._place("NumPy"), "the result")
            return numpy(tensor, *args, **kwargs)

        torch.Tensor.numpy = numpy_of  # what numpy.asarray calls as well

    def operator(self, func, args, kwargs):
        """Runs an operator of PyTorch's; a product is refused."""
        name = func.overloadpacket.__name__
        if name in PRODUCTS and name not in self.ordinary and not self._in_kernel:
            self._refuse(self._place(f"the operator torch.{name}"), "a product")
        result = func(*args, **kwargs)
        if name in FACTORIES and not self._in_kernel:
            return self._between_margins(result, name in UNDEFINED)
        return result

    def before_launch(self, kernel, tensors: dict[str, torch.Tensor]) -> None:
        self._in_kernel = True

    def after_launch(self, tensors: dict[str, torch.Tensor]) -> None:
        self._in_kernel = False

    def judge(self, result: torch.Tensor, name: str) -> None:
        """Nothing is left to see: the loops may have made the result in any way."""
