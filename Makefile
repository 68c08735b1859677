# The two commands: `make book` and `make test`. Only `make pdf` needs a browser.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
.DEFAULT_GOAL := book
.PHONY: setup book test chapter named pdf course bench seeds extremes mutate faults audit serve clean

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	@echo "setting up .venv: some 150 packages, a few minutes the first time"
	$(BIN)/python -m pip install --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m lib.data  # MNIST, into the user's cache
	touch $@

book: setup  ## execute every chapter, then build the site into _build/html
	$(BIN)/python -m lib run
	$(BIN)/python -m lib build
	@echo "open _build/html/index.html, or type: make serve"

# Two workers on two cores: with more threads they would wait for each other.
test: export OMP_NUM_THREADS := 1
test: setup  ## style, architecture, theory, pipeline, and the committed notebooks against a fresh execution
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2 --dist loadfile
	$(BIN)/python -m pytest -n 2 --dist loadfile --nbval-lax book

chapter: named setup  ## execute one chapter: make chapter NAME=products
	$(BIN)/python -m lib run $(NAME)

named:
	@test -n "$(NAME)" || { echo "usage: make chapter NAME=products"; exit 2; }

pdf: setup  ## print the built site into one file, _build/book.pdf; needs Chromium
	@test -d _build/html || { echo "make book comes first"; exit 2; }
	$(BIN)/python -m lib pdf

course: setup  ## write the problem sets into _build/course, and with their solutions into _build/solutions
	$(BIN)/python -m lib course

# The pages of "Speed and trust", each from its table in book/quality/; `python -m evidence --help` says how to renew a part of one.

bench: export OMP_NUM_THREADS := 1
bench: setup  ## the engine beside the plain loop and the machine's limit; some minutes
	$(BIN)/python -m evidence speed

seeds: setup  ## every claim with 20 seeds; hours on two cores, and goes on where it stopped
	$(BIN)/python -m lib seeds

extremes: setup  ## the closed forms at extremes, beside hundreds of digits; single beside double precision
	$(BIN)/python -m evidence extremes

# mutmut only proposes the changes, and nothing else needs it.
mutate: export OMP_NUM_THREADS := 1
mutate: setup  ## change formulas, one at a time, and see whether a test fails; tries again only what has changed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check mutmut==3.8.1 libcst==1.9.0 setproctitle==1.3.8 textual==8.2.8
	$(BIN)/python -m evidence mutants

faults: setup  ## kill, fill, close and spoil what the library works with, and see what is left
	$(BIN)/python -m evidence faults

audit:  ## ask whether a pinned package has a known vulnerability; needs the network
	$(PYTHON) -m venv _build/audit
	_build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	grep == requirements.txt > _build/audit/pins.txt
	_build/audit/bin/pip-audit --strict --no-deps --disable-pip --requirement _build/audit/pins.txt

serve: setup  ## read the book at http://localhost:8000
	$(BIN)/python -m http.server --directory _build/html $(PORT)

clean:
	rm -rf _build $(VENV)
