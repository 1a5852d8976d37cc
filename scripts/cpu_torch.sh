#!/bin/sh
# Puts the CPU build of torch into .venv, making .venv where there is none. `make course` and
# scripts/setup.sh keep it, and are then spared the CUDA libraries.
#
# For machines that will never see a GPU: the workflows and the containers call it. uv is asked,
# since it knows where PyTorch keeps its builds; pip does not. Must never replace a torch that fits.

set -eu
cd "$(dirname "$0")/.."

[ -x .venv/bin/python ] || "${PYTHON:-python3}" -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.8
.venv/bin/python -m uv pip install --python .venv/bin/python --torch-backend cpu \
    --constraint constraints.txt torch
