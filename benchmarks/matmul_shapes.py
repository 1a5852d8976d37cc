"""Times every matmul of the course against cuBLAS on 15 shapes, in fp16 and bf16, by two clocks.

    python benchmarks/matmul_shapes.py [--output FILE]

Needs an NVIDIA GPU. `ms` is the GPU's own time: a CUDA graph for each kernel, the library's too,
that calls it on as many sets of inputs as exceed the L2 cache three times, so the host plays no part.
`eager_ms` is `do_bench` around the plain call, L2 emptied before each: what the host needs for a
launch is hidden only while emptying the cache takes longer. Every round has new random inputs; the
kernels of a round run in turn, and every round begins with another one. Every result is checked
before it is timed. The tuners see 40 ms of every config. Medians of the rounds.
"""

import argparse
import math
import multiprocessing
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import compiling
import reference
import torch
import triton
from recording import MEASUREMENTS, write
from source_configs import SOURCE_CONFIGS, SOURCE_FIXED, options
from timing import ROUNDS, graph, replay_ms, rotated, summary

LARGE = (
    *((n, n, n) for n in (2048, 3072, 4096, 6144, 8192)),
    (4096, 14336, 4096),
    (4096, 4096, 14336),
    (2048, 6144, 4096),
    (512, 14336, 4096),
)
SMALL = ((1024,) * 3, (1536,) * 3, (128, 4096, 4096), (8, 4096, 4096), (16, 8192, 1024))
EXTRA = ((128, 128, 32768),)  # few tiles and a long sum: in no mean
DTYPES = (torch.float16, torch.bfloat16)
COURSE = ("grouped_matmul", "autotuned_matmul", "persistent_matmul", "split_k_matmul")
SETS_BYTES = 200e6
MAX_SETS = 32
BODY = ("grouped_matmul", "grouped_matmul_kernel")

short_bench = partial(triton.testing.do_bench, warmup=10, rep=40)


def fixed(group: int, a, b):
    """The kernel of `grouped_matmul` with the published tutorial's tile of 64."""
    return _launch(reference.kernel(*BODY), a, b, options(SOURCE_FIXED, group))


def _launch(kernel, a, b, variant: dict):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device, dtype=a.dtype)

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

    kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), **variant)
    return c


def source_tuner():
    """The same kernel, tuned over that tutorial's 15 configs."""
    configs = []
    for config in SOURCE_CONFIGS:
        values = options(config)
        named = {n: values.pop(n) for n in ("num_stages", "num_warps")}
        configs.append(triton.Config(values, **named))
    tune = triton.autotune(configs, key=["M", "N", "K"], do_bench=short_bench)
    return tune(reference.kernel(*BODY))


def kernels() -> tuple[dict, dict]:
    """{name: function of a and b}, and {name: tuner} for those that tune."""
    tuner = source_tuner()
    own = reference.kernel("autotuned_matmul", "tuned_kernel")()
    own._do_bench = short_bench
    functions = {
        "cuBLAS": torch.matmul,
        "blockwise, fixed 64": partial(fixed, 1),
        "grouped, fixed 64": partial(fixed, 8),
        "the source's 15 configs": lambda a, b: _launch(tuner, a, b, {}),
        **{name: reference.function(name) for name in COURSE},
    }
    return functions, {"the source's 15 configs": tuner, "autotuned_matmul": own}


def draw(shape, dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """A and B, random normal."""
    M, N, K = shape
    return (
        torch.randn(M, K, device="cuda").to(dtype),
        torch.randn(K, N, device="cuda").to(dtype),
    )


def relative_error(c, a, b) -> float:
    """Frobenius norm of the error over that of the float64 product, on up to 256 rows."""
    rows = torch.linspace(0, a.shape[0] - 1, min(256, a.shape[0]), device=a.device).long()
    exact = a[rows].double() @ b.double()
    return ((c[rows].double() - exact).norm() / exact.norm()).item()


def time_eager(functions: dict, shape, dtype) -> dict[str, list[float]]:
    """Milliseconds of every kernel in every round, by `do_bench`."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(ROUNDS):
        a, b = draw(shape, dtype)
        for name in rotated(functions, turn):
            call = partial(functions[name], a, b)
            ms = triton.testing.do_bench(call, warmup=25, rep=60, return_mode="median")
            times[name].append(ms)
    return times


def time_graphs(functions: dict, shape, dtype) -> dict[str, list[float]]:
    """The same by CUDA graphs, each replayed for about 20 ms."""
    M, N, K = shape
    sets = max(2, min(MAX_SETS, int(SETS_BYTES / (2 * (M * K + K * N + M * N)))))
    times: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(ROUNDS):
        inputs = [draw(shape, dtype) for _ in range(sets)]
        for name in rotated(functions, turn):
            made = graph([partial(functions[name], a, b) for a, b in inputs])
            once = replay_ms(made, sets, replays=1)
            times[name].append(replay_ms(made, sets, max(3, int(20 / (once * sets)))))
    return times


def measure(functions: dict, tuners: dict, shape, dtype) -> list[dict]:
    """A row for every kernel, for one shape and type; split-K is for small ones only."""
    M, N, K = shape
    if shape in LARGE:
        functions = {n: f for n, f in functions.items() if n != "split_k_matmul"}
    a, b = draw(shape, dtype)
    errors = {name: relative_error(f(a, b), a, b) for name, f in functions.items()}
    limit = 2 * errors["cuBLAS"]
    wrong = {name: error for name, error in errors.items() if not error <= limit}
    if wrong:
        sys.exit(f"matmul_shapes: wrong for {shape}, {dtype}: {wrong}; nothing was recorded")
    chosen = {name: str(tuner.best_config) for name, tuner in tuners.items()}
    del a, b
    times = time_graphs(functions, shape, dtype)
    eager = time_eager(functions, shape, dtype)
    library, eager_library = (statistics.median(t["cuBLAS"]) for t in (times, eager))
    rows = []
    for name in functions:
        ms, eager_ms = statistics.median(times[name]), statistics.median(eager[name])
        rows.append(
            {
                "shape": list(shape),
                "group": "small" if shape in SMALL else "large" if shape in LARGE else "extra",
                "dtype": str(dtype).removeprefix("torch."),
                "kernel": name,
                **summary(times[name]),
                "tflops": round(2 * M * N * K / ms / 1e9, 1),
                "share_of_library": round(library / ms, 4),
                **{f"eager_{field}": value for field, value in summary(eager[name]).items()},
                "eager_share_of_library": round(eager_library / eager_ms, 4),
                "relative_error": float(f"{errors[name]:.3g}"),
                **({"config": chosen[name]} if name in chosen else {}),
            }
        )
    return rows


def means(rows: list[dict], field: str) -> list[dict]:
    """Geometric means of a share by group and type, and that of the course's best per shape."""
    found = []
    for group in ("large", "small"):
        for dtype in sorted({r["dtype"] for r in rows}):
            part = [r for r in rows if (r["group"], r["dtype"]) == (group, dtype)]
            shares: dict[str, list[float]] = {}
            best: dict[tuple, float] = {}
            for row in part:
                shares.setdefault(row["kernel"], []).append(row[field])
                if row["kernel"] in COURSE:
                    shape = tuple(row["shape"])
                    best[shape] = max(best.get(shape, 0.0), row[field])
            if best:
                shares["best of the course"] = list(best.values())
            for kernel, values in shares.items():
                mean = math.exp(statistics.fmean(math.log(v) for v in values))
                named = {"group": group, "dtype": dtype, "kernel": kernel}
                found.append({**named, field: round(mean, 4)})
    return found


def _call(job) -> None:
    step, shape, dtype = job
    reference.function(step)(*draw(shape, dtype))


def compile_everything() -> None:
    """Fills Triton's cache on all cores: the tuned kernels by config, the others by a call."""
    own = reference.kernel("autotuned_matmul", "tuned_kernel")().configs
    for step, name, variants in (
        (*BODY, [options(c, g) for c in (*SOURCE_CONFIGS, SOURCE_FIXED) for g in (1, 8)]),
        (
            "autotuned_matmul",
            "autotuned_matmul_kernel",
            [{**c.all_kwargs(), "EVEN": even} for c in own for even in (True, False)],
        ),
    ):
        jobs = [
            ((dtype,) * 3 + (M, N, K, K, 1, N, 1), variant)
            for dtype in ("float16", "bfloat16")
            for M, N, K in (LARGE[0], (8, 4096, 4096))  # 8 is compiled apart: no multiple of 16
            for variant in variants
            if M > 8 or not variant.get("EVEN")
        ]
        compiling.compile_all(step, name, jobs)
    steps = ("grouped_matmul", "persistent_matmul", "split_k_matmul")
    jobs = [(s, shape, d) for s in steps for shape in (*LARGE, *SMALL, *EXTRA) for d in DTYPES]
    with ProcessPoolExecutor(8, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_call, jobs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "10_matmul_shapes.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("matmul_shapes: no GPU found")
    compile_everything()
    torch.manual_seed(10)
    functions, tuners = kernels()
    rows = []
    for dtype in DTYPES:
        for shape in (*LARGE, *SMALL, *EXTRA):
            found = measure(functions, tuners, shape, dtype)
            shown = {
                r["kernel"]: (r["share_of_library"], r["eager_share_of_library"]) for r in found
            }
            print(shape, dtype, found[0]["tflops"], shown, flush=True)
            rows += found
    graphs, eager = means(rows, "share_of_library"), means(rows, "eager_share_of_library")
    print(*graphs, *eager, sep="\n")
    write(
        output,
        rows,
        geometric_means=graphs,
        eager_geometric_means=eager,
        rounds=ROUNDS,
        timer="ms: CUDA graphs on both sides; eager_ms: do_bench",
    )


if __name__ == "__main__":
    main()
