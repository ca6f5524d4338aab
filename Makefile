# Two commands do everything on a machine with Python 3.11, pip, make and git: `make demo` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/installed
# Judges of `evaluate`, and the voice detector of `prepare`, whose packages ask for PyTorch: only their weights are read, so they
# come without it (42 MB).
JUDGES := distillmos==0.9.1 Resemblyzer==0.1.4 silero-vad==6.2.3
DEMO := demo

.PHONY: help setup demo test test-all check format bench docs gpu-check lock clean

help:
	@echo "make demo    make a corpus, pack it, train a voice on it, let it speak (10 to 13 minutes after installation)"
	@echo "make test    run the tests, but for the slow ones"
	@echo "make test-all   run all of them, as CI does"
	@echo "make check   lint, types, layers"
	@echo "make bench   run the benchmarks on a quiet machine"
	@echo "make docs    build the manual, English and Persian, to build/docs"
	@echo "make gpu-check   check a GPU from driver to training (5 minutes); writes gpu-check.json for a bug report"
	@echo "make setup   only install"

setup: $(INSTALLED)

# The lock file pins what is installed, so that a fresh machine gets the versions that were tested.
$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11) and "MyXTTS needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps $(JUDGES)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

DEMO_MINUTES ?= 7
SENTENCE ?= The morning train was late again, so we walked along the river and talked about the sea.

demo: $(INSTALLED)
	@date +%s > $(DEMO).started
	$(BIN)/myxtts demo-corpus $(DEMO)/clip --utterances 4
	$(BIN)/myxtts say "$(SENTENCE)" --voice $(DEMO)/clip/wavs/hibari-00001.wav -o $(DEMO)/before.wav
	$(BIN)/myxtts demo-corpus $(DEMO)/corpus --utterances 1500
	$(BIN)/myxtts pack $(DEMO)/corpus -o $(DEMO)/voice.cache
	$(BIN)/myxtts verify $(DEMO)/voice.cache
	$(BIN)/myxtts info $(DEMO)/voice.cache
	$(BIN)/myxtts train --preset cpu --data $(DEMO)/voice.cache --run $(DEMO)/run --minutes $(DEMO_MINUTES)
	$(BIN)/myxtts say "$(SENTENCE)" --model $(DEMO)/run -o $(DEMO)/hello.wav
	$(BIN)/myxtts evaluate --model $(DEMO)/run --before base --data $(DEMO)/voice.cache \
		--plot $(DEMO)/spectrogram.png --html $(DEMO)/evaluation.html
	@echo
	@echo "All of it took $$(( $$(date +%s) - $$(cat $(DEMO).started) )) s. Made in $(DEMO)/:"
	@echo "  corpus, voice.cache   synthetic speech, packed and verified"
	@echo "  run                   the voice: checkpoints, log.jsonl, samples, tensorboard"
	@echo "  run/report.html       where each millisecond went, and two sentences before and after, for the browser"
	@echo "  before.wav            the base voice imitates one clip (clip/wavs/hibari-00001.wav), before any training"
	@echo "  hello.wav             the same sentence after it; it was not trained on it"
	@echo "  spectrogram.png       another one, before above spoken above real"
	@echo "  evaluation.html       six of them to hear: before, spoken, copy and real, and what the judges say"
	@echo "Next, with your own recordings: $(BIN)/myxtts train --data FOLDER --run runs/me"
	@rm -f $(DEMO).started

PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal

test: $(INSTALLED)
	$(PYTEST) -m "not slow"

test-all: $(INSTALLED)
	$(PYTEST)

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
	$(BIN)/python benchmarks/monitor.py
	$(BIN)/python benchmarks/check.py
	$(BIN)/python benchmarks/bad_rows.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/tuner.py
	$(BIN)/python benchmarks/gallery.py

# The extra is installed here if the lock file does not hold it. The built pages need no network.
docs: $(INSTALLED)
	@$(BIN)/python -c 'import material, mkdocs_static_i18n' 2>/dev/null \
		|| $(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "The manual is built: open build/docs/index.html, or build/docs/fa/index.html for Persian"

# The lock file has TensorFlow for CPUs. Where a driver is, the one with CUDA takes its place (about 3 GB).
gpu-check: $(INSTALLED)
	@if { test -e /dev/nvidiactl || command -v nvidia-smi > /dev/null; } && ! $(BIN)/python -c 'import pynvml' 2> /dev/null; then \
		echo "installing TensorFlow with CUDA"; $(BIN)/pip uninstall --quiet --yes tensorflow-cpu; \
		$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation -e '.[gpu]'; fi
	$(BIN)/myxtts gpu-check --demo $(DEMO)

lock: $(INSTALLED)
	$(BIN)/uv pip compile --quiet --python 3.11 --no-header --no-annotate \
		--extra cpu --extra phonemes --extra demo --extra plot --extra evaluation --extra docs --extra serve --extra speak --extra export --extra dev pyproject.toml -o requirements.lock

clean:
	rm -rf .venv $(DEMO) build dist *.egg-info
