# make demo and make test do everything on a fresh Debian machine with Python 3.11.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MPLBACKEND := Agg

.PHONY: demo test lint bench vignettes clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.test: $(VENV)/.installed
	bash tests/install_r.sh
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
	bash r-package/tools/check.sh

bench: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

vignettes: $(VENV)/.test
	RETICULATE_PYTHON=$(abspath $(BIN)/python) Rscript vignettes/render.R

clean:
	rm -rf $(VENV) build dist relbounds-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
