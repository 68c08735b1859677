# The two commands: `make book` and `make test`. Only `make pdf` needs a browser.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(or $(wildcard $(BIN)/python),python3)
PORT ?= 8000
# What the environment is made of: the pins and the names of our packages, by what they say and not by their date, and the Python.
WANTED = $(shell grep -A 1 packages.find pyproject.toml | cat requirements.txt - | cksum) $(shell $(PYTHON) -V 2>&1)
.DEFAULT_GOAL := book
.PHONY: setup environment book test chapter named lab pdf course bench seeds mutate audit serve clean

setup:  ## the environment, where it is not there or was made of other pins or packages or another Python; needs the network
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; ok = (3, 11) <= v <= (3, 14); \
	  ok or sys.exit("the book needs Python 3.11 to 3.14, not %d.%d: make setup PYTHON=python3.13" % v)'
	@$(PYTHON) -c 'import sys, platform; one = platform.system(), platform.machine(); \
	  ok = one in {("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "arm64")}; \
	  ok or sys.exit("the book needs Linux, macOS on Apple silicon (Intel Macs have no torch) or, on Windows, WSL, not %s on %s" % one)'
	@test "$(WANTED)" = "$$(cat $(VENV)/.ready 2>/dev/null)" || $(MAKE) --no-print-directory environment

environment:
	@echo "setting up .venv: some 140 packages, a few minutes the first time; the first training then compiles for some ten seconds"
	test "$$($(PYTHON) -V)" = "$$($(BIN)/python -V 2>/dev/null)" || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --no-compile -r requirements.txt  # faster so
	$(BIN)/python -m lib.data || true  # MNIST, into the user's cache; it says in a line what is wrong, and the chapters that need it say so
	@echo "$(WANTED)" > $(VENV)/.ready

book: setup  ## execute every chapter, JOBS at a time, then build the site into _build/html
	$(BIN)/python -m lib run $(if $(JOBS),--jobs $(JOBS)) || test $$? = 3  # for want of data: the last good notebooks are kept
	$(BIN)/python -m lib build
	@echo "open _build/html/index.html, or type: make serve"

# Two workers on two cores: with more threads they would wait for each other.
test: export OMP_NUM_THREADS := 1
test: setup  ## style, types, architecture, theory, pipeline, and the lessons' outputs against a fresh execution; CI runs more
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/ty check --python $(VENV) book lib
	$(BIN)/python $(BIN)/lint-imports  # the script's first line may name a folder that was moved
	$(BIN)/python -m pytest -n 2 --dist loadfile --nbval -m "not slow" book tests

chapter: named setup  ## execute one chapter: make chapter NAME=products
	$(BIN)/python -m lib run $(NAME)

lab: named setup  ## open a copy of a chapter in JupyterLab: make lab NAME=products; the first time it needs the network
	@test -f _build/html/_sources/book/$(NAME).ipynb || \
	  { echo "no chapter $(NAME) in _build/html: make book comes first"; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-lab.txt
	@mkdir -p $(dir _build/lab/$(NAME))
	@test -f _build/lab/$(NAME).ipynb || cp _build/html/_sources/book/$(NAME).ipynb _build/lab/$(NAME).ipynb
	$(BIN)/python -P -m jupyterlab $(if $(filter 0,$(shell id -u)),--allow-root) _build/lab/$(NAME).ipynb  # root: in a container

named:
	@test -n "$(NAME)" || { echo "usage: make $(or $(MAKECMDGOALS),chapter) NAME=products"; exit 2; }

pdf: setup  ## print the built site into one file, _build/book.pdf; needs Chromium
	@test -d _build/html || { echo "make book comes first"; exit 2; }
	$(BIN)/python -m lib pdf

course: setup  ## write labs and problem sets into _build/course, and with their solutions into _build/solutions; KEY=17 changes numbers
	@case "$(KEY)" in *[!0-9]*) echo "KEY: want a whole number of at least 0, like 17"; exit 2;; esac
	$(BIN)/python -m lib build  # numbers of equations are the site's
	$(BIN)/python -m lib course $(if $(KEY),--key $(KEY))

# The tables in book/quality/, from which "How this book is tested" and the ledger take their numbers.

bench: export OMP_NUM_THREADS := 1
bench: setup  ## the library beside the plain loop, JAX and the machine's limit; some minutes, needs the network
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps jax==0.10.2 jaxlib==0.10.2 ml_dtypes==0.6.0 opt_einsum==3.4.0
	$(BIN)/python -m tests.tools.bench

seeds: setup  ## each chapter with 20 seeds; hours on two cores, and goes on where it stopped
	$(BIN)/python -m lib seeds

mutate: export OMP_NUM_THREADS := 1
mutate: setup  ## change formulas, one at a time, and see whether a test fails; half an hour, needs the network
	$(BIN)/python -m pip install --quiet --disable-pip-version-check mutmut==3.8.1 libcst==1.9.0 setproctitle==1.3.8 textual==8.2.8
	$(BIN)/python -m tests.tools.mutants

audit:  ## ask whether a pinned package has a known vulnerability; needs the network
	$(PYTHON) -m venv _build/audit
	_build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	grep -h == requirements.txt requirements-lab.txt > _build/audit/pins.txt
	@_build/audit/bin/pip-audit --strict --no-deps --disable-pip --requirement _build/audit/pins.txt 2> _build/audit/said || \
	  { grep -q "not found on PyPI" _build/audit/said && echo "nothing was audited: the source of advisories is not reached from here" || \
	  cat _build/audit/said; exit 1; }

serve: setup  ## read the book at http://127.0.0.1:8000, and run its code there
	@$(BIN)/python -m lib serve --port $(PORT)

clean:
	rm -rf _build $(VENV)
	find book lib -name "*.nb[ci]" -delete
