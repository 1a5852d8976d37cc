"""Runs the battery of every reference kernel on a GPU: values only, without the guards.

    python benchmarks/gpu_reference.py [--seeds N]

Grading on a GPU comes later; this shows that the reference solutions are right there too. Exits 1
and names the cases when one is not.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from recording import ROOT, environment
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources

sys.path.insert(0, str(ROOT))
from autograder import course, grading
from autograder.arena import lay_out
from autograder.shared import MARGIN
from autograder.submission import read
from autograder.worker import loader

# What TF32 may do to an fp32 product: the hardware cuts each operand to ten bits of fraction, an
# error of up to 2⁻¹⁰ and always towards zero, hence twice what rounding would ask for.
TF32 = 8 * 2.0**-10


def on_gpu(operand, device: str = "cuda") -> torch.Tensor:
    """The operand on the GPU or another device, in the layout and the type of the case."""
    storage, strides = lay_out(operand)
    storage = torch.from_numpy(storage).to(device, getattr(torch, operand.dtype))
    return storage.as_strided(operand.values.shape, strides, MARGIN)


def allowance(case) -> np.ndarray:
    """The case's bound, and TF32's rounding of the operands where the inputs are fp32."""
    if case.size.get("dtype") != "float32" or "K" not in case.size:
        return case.bound
    left, right = (o.values.astype(np.float64) for o in case.operands[:2])
    right = right if right.shape[0] == left.shape[1] else right.T
    return case.bound + TF32 * (np.abs(left) @ np.abs(right)) / np.sqrt(left.shape[1])


def run(function, case, number: int) -> np.ndarray:
    """What the function returns. A tuned kernel is not tuned but given one config: another for every
    case, and the next that fits where one asks for more than the GPU has.
    """
    native = Autotuner.run

    def run_one(self, *args, **kwargs):
        configs = self.configs
        for at in range(len(configs)):
            self.configs = [configs[(number + at) % len(configs)]]
            try:
                return native(self, *args, **kwargs)
            except OutOfResources as error:
                refused = error
            finally:
                self.configs = configs
        raise refused

    Autotuner.run = run_one
    try:
        result = function(*map(on_gpu, case.operands), *case.more, **case.named)
    finally:
        Autotuner.run = native
    return result.cpu().double().numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    if not torch.cuda.is_available():
        sys.exit("gpu_reference: no GPU found")
    print(environment())
    wrong = total = 0
    worst: dict[str, float] = {}  # error over allowance, by step and dtype
    with tempfile.TemporaryDirectory() as folder:
        for step in (s for s in course.STEPS if s.task.kernel):
            submission = read(ROOT / "solutions" / f"{step.folder}.py")
            function = loader.load(submission.payload(step.name), Path(folder))
            for seed in range(seeds):
                for number, case in enumerate(grading.battery(step, seed), start=seed):
                    if case.focus == "int64":
                        continue  # a storage of gigabytes on the host; see the solution's own test
                    result = run(function, case, number)
                    total += 1
                    error, allowed = np.abs(result - case.expected), allowance(case)
                    if error.size:
                        name = f"{step.name} {case.size['dtype']}"
                        ratio = float((error / np.maximum(allowed, 1e-300)).max())
                        worst[name] = max(worst.get(name, 0.0), ratio)
                    if not (error <= allowed).all():
                        wrong += 1
                        print(f"WRONG {step.name}, seed {seed}, {case.name}: {case.size}")
    print("largest share of the allowed error:")
    for name, ratio in worst.items():
        print(f"  {name}: {ratio:.3f}")
    print(f"{total - wrong} of {total} cases right")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
