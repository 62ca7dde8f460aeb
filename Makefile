# make demo: install and run the quick start.  make test: the tests.  make lint: style, format and types.  make api: docs/api.md.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock

.PHONY: demo test lint bench api clean

demo: .venv/installed
	$(BIN)/outrisk assess configs/fair.yaml --force

test: .venv/installed-test
	$(BIN)/python -m pytest

lint: .venv/installed-lint
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

bench: .venv/installed
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/studies.py
	$(BIN)/python benchmarks/outputs.py
	$(BIN)/python benchmarks/privacy.py
	$(BIN)/python benchmarks/disclosure.py
	$(BIN)/python benchmarks/attacks.py

api: .venv/installed
	$(BIN)/python docs/make_api.py

clean:
	rm -rf .venv

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "OutRisk needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml requirements.lock
	$(PIP) --editable .
	touch $@

.venv/installed-test: .venv/installed
	$(PIP) --editable '.[test]'
	touch $@

.venv/installed-lint: .venv/installed
	$(PIP) --editable '.[lint]'
	touch $@
