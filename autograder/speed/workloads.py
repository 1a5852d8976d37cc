"""What is timed of each step: sizes, the library's counterpart, and the share of it that is asked for.

Sizes are large enough that a call takes a fast GPU more time than its host needs to launch it, and
its tensors exceed the GPU's caches. Must stay data, and importable without torch.
"""

import math
from dataclasses import dataclass, field

from autograder import formats

Shape = tuple[int, ...]
# What a step that only moves memory is compared with, byte for byte. PyTorch's own kernel for the
# same result may be far from what the memory can do, and on every GPU at another distance.
COPY = "a copy (torch.clone)"


@dataclass(frozen=True)
class Workload:
    """One timed call: `operands` and `results` by shape, of `dtype` unless `result_dtype` says other.

    With `backward` the last operand is the gradient of the first result, and the other results are
    those of the operands. `flops` are those of the formula, whoever computes it. `threshold` is a
    share of the speed of `library`; `tensor_cores` says that it is meant for GPUs whose tensor cores
    Triton uses, from compute capability 8.0 on.
    """

    step: str
    dtype: str
    shape: dict[str, int]
    operands: tuple[Shape, ...]
    results: tuple[Shape, ...]
    flops: int
    library: str
    threshold: float
    tensor_cores: bool = False
    backward: bool = False
    named: dict = field(default_factory=dict)
    result_dtype: str = ""

    @property
    def bytes(self) -> int:
        """Those of reading every operand and writing every result once."""
        read = sum(map(math.prod, self.operands)) * formats.itemsize(self.dtype)
        written = sum(map(math.prod, self.results)) * formats.itemsize(self.out)
        return read + written

    @property
    def out(self) -> str:
        """The type of the results."""
        return self.result_dtype or self.dtype


def _matmul(step: str, M: int, N: int, K: int, threshold: float, dtype="float16"):
    return Workload(
        step,
        dtype,
        {"M": M, "N": N, "K": K},
        ((M, K), (K, N)),
        ((M, N),),
        2 * M * N * K,
        "torch.matmul (cuBLAS)",
        threshold,
        tensor_cores=dtype != "float32",
    )


def _rows(step: str, R: int, C: int, library: str, threshold: float, flops: int, **more):
    """A step that reads one matrix, or as many as `operands` says, and by default writes one."""
    shape = (R, C)
    given = {"operands": (shape,), "results": (shape,), **more}
    sizes = {"R": R, "C": C}
    work = flops * R * C
    return Workload(
        step, "float16", sizes, flops=work, library=library, threshold=threshold, **given
    )


def _attention(step: str, threshold: float, backward: bool) -> Workload:
    B, H, N, D = 4, 16, 4096, 128
    tensor = (B, H, N, D)
    # Two products of 2·N·N·D operations, half of them below the diagonal; five more going back.
    forward = 4 * B * H * N * N * D // 2
    return Workload(
        step,
        "float16",
        {"B": B, "H": H, "N": N, "D": D},
        (tensor,) * (4 if backward else 3),
        (tensor,) * (4 if backward else 1),
        forward * 7 // 2 if backward else forward,
        "scaled_dot_product_attention (FlashAttention-2)",
        threshold,
        tensor_cores=True,
        backward=backward,
        named={"causal": True},
    )


LONG = 2**25
HEADS = (16, 16, 4096, 128)
WORKLOADS = {
    workload.step: workload
    for workload in (
        Workload(
            "vector_add",
            "float32",
            {"N": LONG},
            ((LONG,), (LONG,)),
            ((LONG,),),
            LONG,
            COPY,
            0.6,
        ),
        _rows("scale_rows", 8192, 8192, COPY, 0.6, 1, operands=((8192, 8192), (8192,))),
        Workload(
            "transpose",
            "float16",
            {"N": 8192, "M": 8192},
            ((8192, 8192),),
            ((8192, 8192),),
            0,
            COPY,
            0.5,
        ),
        _rows("row_max", 16384, 16384, COPY, 0.6, 1, results=((16384,),)),
        _rows("softmax", 8192, 8192, COPY, 0.5, 5),
        _matmul("triton_matmul", 4096, 8192, 4096, 0.35),
        Workload(
            "linear_gelu",
            "float16",
            {"M": 4096, "N": 8192, "K": 4096},
            ((4096, 4096), (8192, 4096), (8192,)),
            ((4096, 8192),),
            2 * 4096 * 8192 * 4096,
            "gelu(linear(x, w, bias)) (cuBLAS and one more kernel)",
            0.3,
            tensor_cores=True,
        ),
        _matmul("ieee_matmul", 4096, 4096, 2048, 0.3, "float32"),
        _matmul("grouped_matmul", 4096, 8192, 4096, 0.4),
        _matmul("autotuned_matmul", 4096, 8192, 4096, 0.6),
        _rows("online_softmax", 1024, 65536, COPY, 0.3, 5),
        _rows(
            "weighted_mean",
            1024,
            65536,
            COPY,
            0.25,
            7,
            operands=((1024, 65536), (65536,)),
            results=((1024,),),
        ),
        _attention("flash_attention", 0.6, backward=False),
        _rows(
            "softmax_backward",
            8192,
            8192,
            COPY,
            0.6,
            4,
            operands=((8192, 8192), (8192, 8192)),
        ),
        Workload(
            "attention_delta",
            "float16",
            dict(zip("BHND", HEADS)),
            (HEADS, HEADS),
            (HEADS[:3],),
            2 * math.prod(HEADS),
            COPY,
            0.6,
            result_dtype="float32",
        ),
        _attention("attention", 0.5, backward=True),
        _matmul("persistent_matmul", 4096, 8192, 4096, 0.5),
        _matmul("split_k_matmul", 128, 256, 2**20, 0.2),
    )
}
