"""The same verdicts with every Triton that the course supports? Grades the corpora with each.

    python benchmarks/triton_versions.py [--every N] [--seed S] [--output FILE]

Makes an environment for each version in _build/triton/: a virtual environment with that Triton alone,
which takes every other package from the environment of this Python. So torch, NumPy and the rest are
the same for all. Downloads about 250 MB and fills about 900 MB of disk for each, once. Then each
grades the corpora (corpus_run.py, resumable), and the verdicts are compared.
"""

import argparse
import json
import subprocess
import sys
import sysconfig
import venv
from collections import Counter
from importlib import metadata
from pathlib import Path

from corpus_run import misnamed, options, other_than_asked, run, sample
from recording import MEASUREMENTS, ROOT, write
from resumable import BUILD

VERSIONS = ("3.6", "3.7", "3.8", "3.9")


def environment(version: str) -> Path:
    """The Python of an environment with a Triton of that minor version; made if it is not there."""
    folder = BUILD / "triton" / version
    made = folder / "made"
    python = folder / "bin" / "python"
    if made.exists():
        return python
    venv.create(folder, with_pip=False, symlinks=True, clear=True)
    variables = {"base": str(folder), "platbase": str(folder)}
    packages = sysconfig.get_path("purelib", "venv", variables)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", packages]
    subprocess.run([*command, f"triton=={version}.*"], check=True)
    others = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    Path(packages, "others.pth").write_text("\n".join(others) + "\n", encoding="utf-8")
    made.touch()
    return python


def grade_with(python: Path, every: int, seed: int) -> dict:
    """Grades the corpora with another Python; what `describe` tells there."""
    command = [str(python), __file__, "--every", str(every), "--seed", str(seed), "--describe"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit("triton_versions: stopped; nothing was recorded")
    return json.loads(done.stdout.splitlines()[-1])


def describe(every: int, seed: int) -> dict:
    """Grades with the Triton of this process: its version, the verdicts, the files left out."""
    verdicts, left_out = run(every, seed)
    if len(verdicts) + len(left_out) < len(sample(every)):
        sys.exit("triton_versions: interrupted; the next run goes on from here")
    return {
        "triton": metadata.version("triton"),
        "numpy": metadata.version("numpy"),
        "commits": dict(Counter(v["commit"] for v in verdicts)),
        "left_out": left_out,
        "not_as_asked": [v["file"] for v in other_than_asked(verdicts)],
        "misnamed": [v["file"] for v in misnamed(verdicts)],
        "verdicts": {v["file"]: f"{v['status']} {v['cause']}".strip() for v in verdicts},
    }


def differences(runs: list[dict]) -> list[dict]:
    """The files whose status or cause is not the same with all versions that judged them."""
    found = []
    for file in sorted({file for each in runs for file in each["verdicts"]}):
        told = {each["triton"]: each["verdicts"][file] for each in runs if file in each["verdicts"]}
        if len(set(told.values())) > 1:
            found.append({"file": file, "verdicts": told})
    return found


def main() -> None:
    parser = options(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "triton_versions.json")
    parser.add_argument("--describe", action="store_true", help="only with this Triton, as JSON")
    given = parser.parse_args()
    if given.describe:
        print(json.dumps(describe(given.every, given.seed)))
        return
    runs = []
    for version in VERSIONS:
        print(f"Triton {version}", file=sys.stderr)
        runs.append(grade_with(environment(version), given.every, given.seed))
    found = differences(runs)
    write(given.output, runs, seed=given.seed, differences=found)
    for each in runs:
        judged, wrong = len(each["verdicts"]), each["not_as_asked"]
        print(f"Triton {each['triton']}: {judged} files judged; not as asked: {wrong or 'none'}")
    print(f"Different between versions: {json.dumps(found, indent=1)}")
    sys.exit(1 if found or any(each["not_as_asked"] for each in runs) else 0)


if __name__ == "__main__":
    main()
