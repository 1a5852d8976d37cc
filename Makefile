# Set-up, book, exercises and tests. Needs GNU make and Python 3.11 or newer; the rest it installs.
#
# A stamp is made when its step has succeeded, so a second run does only what has changed.
# Paths are relative: the folder may have a space in its name.

PY     := .venv/bin/python
STAMPS := _build/.stamps

CODE := $(shell find autograder solutions -name '*.py')
DATA := $(wildcard book/*.py book/data/* book/measurements/*)
BOOK := _config.yml $(shell find book -type f)

.PHONY: course test corpus book exercises lab FORCE
.DELETE_ON_ERROR:

course: $(STAMPS)/book $(STAMPS)/reference
	@printf '%s\n' '' \
	  'The course is ready.' \
	  '  Read:     open _build/html/index.html in a browser' \
	  '  Write:    .venv/bin/jupyter lab --notebook-dir . exercises/04_first_kernels/first_kernels.ipynb' \
	  '  Grade:    .venv/bin/autograder grade exercises/04_first_kernels/first_kernels.ipynb'

test: .venv/.stamps/test $(STAMPS)/book
	@scripts/browser.sh
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m pytest --numprocesses auto --dist worksteal

# Every file of tests/corpus; `make test` grades one in twenty of them.
corpus: .venv/.stamps/test
	$(PY) -m pytest --numprocesses auto --dist worksteal --whole-corpus tests/test_corpus.py

book: $(STAMPS)/book

# JupyterLab, on the exercises. Its root is the course, so that their links to the book lead somewhere.
lab: .venv/.stamps/course
	.venv/bin/jupyter lab --LabApp.default_url=/lab/tree/exercises

exercises: .venv/.stamps/course
	$(PY) -m autograder.authoring

# Asked every time. The script compares the set with the installed one and leaves its stamp alone
# when they are the same.
.venv/.stamps/course: FORCE
	@scripts/setup.sh course

.venv/.stamps/test: .venv/.stamps/course FORCE
	@scripts/setup.sh test

# Executed pages are cached under a key of their code cells alone. Whatever those cells import or read
# may have changed too, so the cache goes whenever code, data or the installed set does.
$(STAMPS)/code: .venv/.stamps/course $(CODE) $(DATA)
	rm -rf _build/.jupyter_cache
	@mkdir -p $(@D) && touch $@

$(STAMPS)/book: $(STAMPS)/code $(BOOK)
	.venv/bin/jupyter-book build book/ --all -W -n --keep-going
	@touch $@

$(STAMPS)/reference: $(STAMPS)/code
	$(PY) -m autograder grade solutions --device cpu
	@touch $@
