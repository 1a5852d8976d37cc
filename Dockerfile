# The grader in a container, for submissions that you do not trust. It holds no reference solution
# and no test case of the corpora; nothing in it has to be written to.
#
#   docker build --tag autograder .
#   docker run --rm --network none --read-only --tmpfs /tmp:size=1g \
#       --memory 6g --memory-swap 6g --pids-limit 256 --cpus 2 \
#       --cap-drop ALL --security-opt no-new-privileges \
#       --volume "$PWD/submissions:/submissions:ro" --volume "$PWD/results:/results" \
#       autograder grade /submissions --json /results/results.json
#
# The user in the container, 10001, must be able to write to results/. Memory: a run may take 4 GiB
# before the grader ends it. Without a GPU; the CPU build of torch.

FROM python:3.11-slim-bookworm

WORKDIR /course
# What is downloaded is installed once, and kept in no layer beside that.
ENV PIP_NO_CACHE_DIR=1 UV_NO_CACHE=1

# First what changes seldom: an edit of the grader then installs nothing again.
COPY requirements.txt constraints.txt ./
COPY scripts/cpu_torch.sh scripts/
RUN scripts/cpu_torch.sh \
    && .venv/bin/python -m pip install --constraint constraints.txt --requirement requirements.txt

# The pages, since a hint names the paragraph to read; the pattern, since course.toml is optional.
COPY pyproject.toml README.md LICENSE course.tom[l] ./
COPY autograder autograder
COPY book book
COPY exercises exercises
RUN .venv/bin/python -m pip install --no-deps --editable .

RUN useradd --uid 10001 grader
USER grader
ENV HOME=/tmp PYTHONDONTWRITEBYTECODE=1
ENTRYPOINT ["/course/.venv/bin/python", "-m", "autograder"]
CMD ["doctor"]
