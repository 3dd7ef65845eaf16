# make demo and make test do everything on a fresh Debian machine with Python 3.11.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MPLBACKEND := Agg

.PHONY: demo test test-oldest lint docs r-check bench clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.test: $(VENV)/.installed
	bash tests/install_r.sh
	bash tests/install_browser.sh
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	if command -v R >/dev/null; then $(BIN)/python -m pip install --quiet --editable ".[r]"; fi
	touch $@

demo: $(VENV)/.installed
	$(BIN)/relbounds demo

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(VENV)/.test lint
	$(BIN)/python -m pytest -q -n 2
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target r-check docs

# The R package, built, installed and checked.
r-check: $(VENV)/.test
	bash r-package/tools/check.sh

# The site for both languages in docs/_build: every page's code run, every link followed, every page opened. No network.
docs: $(VENV)/.test
	$(BIN)/python docs/tools/build.py

# The tests with the oldest versions that pyproject.toml allows, in an environment of their own.
test-oldest:
	$(PYTHON) tests/oldest.py .venv-oldest -n 2

bench: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) .venv-oldest build docs/_build dist relbounds-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
