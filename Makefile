# make demo: install and run the quick start.  make test: the tests.  make lint: style, format and types.  make api: docs/api.md.
# make docs: the site, into site/.  make wheelhouse: zips to install from without a network.  make picture: that of the README.
# On Windows, and without make: docs/installation.md has the lines.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock

.PHONY: demo test lint bench api wheelhouse docs picture clean

demo: .venv/installed
	$(BIN)/outrisk assess configs/fair.yaml --force

test: .venv/installed-test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n logical --dist loadfile

lint: .venv/installed-lint
	$(BIN)/ruff check src tests benchmarks validation install docs
	$(BIN)/ruff format --check src tests benchmarks validation install docs
	$(BIN)/mypy

bench: .venv/installed
	$(BIN)/python benchmarks/write_page.py

wheelhouse: .venv/installed
	$(BIN)/python install/wheelhouse.py

docs: .venv/installed-docs
	$(BIN)/python docs/make_glossary.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

picture: demo
	$(BIN)/python docs/make_picture.py runs/fair/report.html

api: .venv/installed
	$(BIN)/python docs/make_api.py

clean:
	rm -rf .venv

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "OutRisk needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml requirements.lock
	$(PIP) --editable .
	$(BIN)/python -m compileall -q src
	touch $@

.venv/installed-test: .venv/installed
	$(PIP) --editable '.[test]'
	touch $@

.venv/installed-lint: .venv/installed
	$(PIP) --editable '.[lint]'
	touch $@

.venv/installed-docs: .venv/installed
	$(PIP) --editable '.[docs]'
	touch $@
