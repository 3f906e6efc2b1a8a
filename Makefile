# Needs only Python 3.11 or newer and make. PYTHON=… picks an interpreter; HOST and PORT are the demo's.
PYTHON ?= $(firstword $(foreach p,python3.13 python3.12 python3.11 python3,$(if $(shell $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo ok),$(p))))
HOST ?= 127.0.0.1
PORT ?= 8765
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --quiet

.PHONY: venv run test lint bench dev

venv: .venv/.runs

run: .venv/.runs
	exec $(BIN)/turnback demo --host "$(HOST)" --port "$(PORT)"

test: .venv/.tests
	$(BIN)/python -m pytest -n 3 --dist worksteal $(ARGS)

lint: .venv/.tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests
	$(BIN)/lint-imports

bench: .venv/.tests
	$(BIN)/python bench $(ARGS)

dev: .venv/.tests

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Turnback needs Python 3.11 or newer; none found. Install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.runs: requirements.lock pyproject.toml | .venv/bin/python
	$(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

.venv/.tests: requirements-dev.lock .venv/.runs
	$(INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@
