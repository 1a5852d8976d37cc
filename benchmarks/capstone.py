"""The Transformer of examples/transformer.py at a real size on a GPU, by PyTorch's layers and by ours.

    python benchmarks/capstone.py [--output FILE]

Needs an NVIDIA GPU with 40 GB of memory. Same weights at the start, same data, same optimiser;
weights in float32, products and attention in bfloat16 by `torch.autocast`. A fourth run is
PyTorch's in float32: how far bfloat16 alone moves a loss. Time is the host's clock from loss to
loss, each of which waits for the GPU.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import transformer  # before anything that imports Triton: without a GPU it is to be interpreted
from recording import MEASUREMENTS, write

SIZES = {"width": 1024, "heads": 16, "layers": 8, "length": 2048, "batch": 8, "word": 16}
STEPS, WARM = 100, 20  # the first steps compile, and bring the GPU to its clock
RATE = 3e-4


class PersistentLinear(transformer.OurLinear):
    matmul = "persistent_matmul"


# (name, layer, attention, whether by autocast); the first is what the others are compared with.
RUNS = (
    ("PyTorch", torch.nn.Linear, transformer.library_attention, True),
    ("triton_matmul and attention", transformer.OurLinear, transformer.our_attention, True),
    ("persistent_matmul and attention", PersistentLinear, transformer.our_attention, True),
    ("PyTorch in float32", torch.nn.Linear, transformer.library_attention, False),
)


def trained(name, linear, attention, autocast, sizes, steps, warm, device, dtype) -> dict:
    """The row of one run: losses, milliseconds of a step, tokens a second, memory at the peak."""
    gpu = device.type == "cuda"
    if gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    torch.manual_seed(0)
    shape = (sizes["width"], sizes["heads"], sizes["layers"], sizes["length"])
    model = transformer.Transformer(*shape, linear, attention).to(device)
    data = transformer.batches(sizes["batch"], sizes["length"], steps, device, sizes["word"])
    losses, ends = [], []
    for loss in transformer.train(model, data, RATE, dtype if autocast else None):
        losses.append(loss)
        ends.append(time.perf_counter())
    ms = 1e3 * statistics.median(b - a for a, b in zip(ends[warm:], ends[warm + 1 :]))
    return {
        "run": name,
        "parameters": sum(p.numel() for p in model.parameters()),
        "ms": round(ms, 2),
        "tokens_per_second": round(1e3 * sizes["batch"] * sizes["length"] / ms),
        "peak_mib": round(torch.cuda.max_memory_allocated() / 2**20) if gpu else None,
        "losses": [round(x, 5) for x in losses],
    }


def compared(runs, sizes, steps, warm, device, dtype) -> list[dict]:
    """A row for each run, with the largest difference of its losses from the first run's."""
    rows = []
    for run in runs:
        row = trained(*run, sizes, steps, warm, device, dtype)
        first = rows[0]["losses"] if rows else row["losses"]
        differences = [abs(a - b) for a, b in zip(row["losses"], first, strict=True)]
        rows.append(row | {"largest_difference": round(max(differences), 5)})
        shown = ("run", "ms", "tokens_per_second", "peak_mib", "largest_difference")
        print({field: rows[-1][field] for field in shown}, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "14_transformer.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("capstone: no GPU found")
    rows = compared(RUNS, SIZES, STEPS, WARM, torch.device("cuda"), torch.bfloat16)
    write(
        output, rows, **SIZES, steps=STEPS, rate=RATE, timer=f"median step after the first {WARM}"
    )


if __name__ == "__main__":
    main()
