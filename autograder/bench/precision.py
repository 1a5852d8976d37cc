"""The precisions of the table, and how wrong a right result may be in each.

Kernels are compared within one precision only: fp32 in TF32 is another product than fp32 in IEEE
arithmetic. Must never make a bound wide enough for the next coarser precision.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Precision:
    """`dtype`: of A, B and C. `tf32`: whether the library may use it. `since`: compute capability."""

    name: str
    dtype: str
    tf32: bool
    since: tuple[int, int]

    def limit(self, K: int) -> float:
        """The largest relative error (Frobenius norm) of a right product of random normal matrices.

        In 16 bits the last rounding decides: at most half a unit in the last place of each element.
        TF32 cuts both operands to ten bits of fraction, each an error of up to 2⁻¹⁰. In IEEE fp32 every
        addition of a sum of K terms rounds, by up to 2⁻²⁴ of the sum so far; as the errors are
        independent, K of them grow like the root of K.
        """
        if self.dtype == "float16":
            return 2.0**-11
        if self.dtype == "bfloat16":
            return 2.0**-8
        if self.tf32:
            return 2 * 2.0**-10
        return 2.0**-24 * (1 + K**0.5)


FLOAT16 = Precision("float16", "float16", False, (7, 0))
BFLOAT16 = Precision("bfloat16", "bfloat16", False, (8, 0))
TF32 = Precision("float32, TF32", "float32", True, (8, 0))
IEEE = Precision("float32, IEEE", "float32", False, (7, 0))
PRECISIONS = (FLOAT16, BFLOAT16, TF32, IEEE)
