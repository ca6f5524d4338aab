# Two commands do everything on a machine with Python 3.11, pip, make and git: `make demo` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/installed
DEMO := demo

.PHONY: help setup demo test check format bench lock clean

help:
	@echo "make demo    make a corpus, pack it, verify it (about 1 minute after installation)"
	@echo "make test    run the tests"
	@echo "make check   lint, types, layers"
	@echo "make bench   run the benchmarks on a quiet machine"
	@echo "make setup   only install"

setup: $(INSTALLED)

# The lock file pins what is installed, so that a fresh machine gets the versions that were tested.
$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11) and "MyXTTS needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(INSTALLED)
	$(BIN)/myxtts demo-corpus $(DEMO)/corpus
	$(BIN)/myxtts pack $(DEMO)/corpus -o $(DEMO)/voice.cache
	$(BIN)/myxtts verify $(DEMO)/voice.cache
	$(BIN)/myxtts info $(DEMO)/voice.cache
	@echo
	@echo "Made here: $(DEMO)/corpus (synthetic speech) and $(DEMO)/voice.cache (packed, verified)."
	@echo "Next, with your own recordings: $(BIN)/myxtts pack FOLDER"

test: $(INSTALLED)
	$(BIN)/python -m pytest

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(INSTALLED)
	$(BIN)/python benchmarks/pack.py
	$(BIN)/python benchmarks/feed.py
	$(BIN)/python benchmarks/order_scale.py

lock: $(INSTALLED)
	$(BIN)/uv pip compile --quiet --python 3.11 --no-header --no-annotate \
		--extra cpu --extra phonemes --extra demo --extra plot --extra dev pyproject.toml -o requirements.lock

clean:
	rm -rf .venv $(DEMO) build dist *.egg-info
