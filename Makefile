# Every target sets up what it needs in a private .venv: Python 3.11+, make and git are enough.
PYTHON ?= python3
V := .venv/bin
PIP := $(V)/pip --disable-pip-version-check --quiet
# No index, no host and no path of this machine reaches the lock files.
COMPILE := $(V)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --custom-compile-command "make lock"

.PHONY: up test check format bench chaos lock clean

up: .venv/.runtime           ## run Duly on SQLite (DULY_DATA says where, UP holds more options)
	$(V)/duly up $(UP)

test: .venv/.dev             ## all tests (T="-k word" narrows them)
	$(V)/pytest $(T)

check: .venv/.dev            ## style, types, layers
	$(V)/ruff check .
	$(V)/ruff format --check .
	$(V)/mypy
	$(V)/lint-imports

format: .venv/.dev
	$(V)/ruff check --fix .
	$(V)/ruff format .

bench: .venv/.dev            ## the table of docs/benchmarks.md
	$(V)/python -m bench.all

chaos: .venv/.dev            ## five minutes of SIGKILL at random under load
	DULY_CHAOS_S=300 $(V)/pytest tests/integration/test_kill.py -s

lock: .venv/.dev             ## pin again after a change of pyproject.toml
	$(COMPILE) --extra postgres --group build -o requirements.lock pyproject.toml
	$(COMPILE) --all-extras --group dev -c requirements.lock -o requirements-dev.lock pyproject.toml

clean:
	rm -rf .venv

.venv/bin/pip:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Duly needs Python 3.11 or later; say make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

# The project itself is installed as a link to src/, so a pull needs no second install.
.venv/.runtime: requirements.lock pyproject.toml | .venv/bin/pip
	$(PIP) install --require-hashes -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	touch $@

.venv/.dev: requirements-dev.lock .venv/.runtime
	$(PIP) install --require-hashes -r requirements-dev.lock
	touch $@
