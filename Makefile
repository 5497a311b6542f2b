# Everything a developer runs. `make` alone lists the targets.
# Python 3.11 or newer is taken from PYTHON; packages come from wherever pip is configured to look.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
VISION := .venv-vision/bin
READY := .venv/.ready
READY_DEV := .venv/.ready-dev
READY_VISION := .venv-vision/.ready
# torch is pinned here and not in the lock: which of its builds there is depends on the machine, and
# the lock would hold every CUDA library of one of them. The pair below exists for what needs
# torchvision: OpenCLIP, and the processors of Qwen-VL and LLaVA-OneVision.
TORCH := torch==2.13.0
TORCH_PAIR := torch==2.14.1 torchvision==0.29.1
OFFICE := libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui fonts-liberation

.PHONY: help demo test test-torchvision check bench examples lock office clean

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## demo      build a library from examples/ and ask it questions; leaves demo/evidence.png
demo: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/demo.sh

## test      check, then every test; needs no network once packages are there
test: $(READY_DEV) office check
	@$(BIN)/python -m pytest -q

## test-torchvision  test models that need torchvision, in an environment of their own (6 GB)
test-torchvision: $(READY_VISION)
	@$(VISION)/python -m pytest -q tests/vision

## check     lint, format, types, import rules, house rules
check: $(READY_DEV)
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check . || { echo "formatting differs: run $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports > .venv/imports.txt || { cat .venv/imports.txt; exit 1; }
	@$(BIN)/python scripts/check.py

## bench     measure; most of it on the data folder named by PAGETRAIL_DATA
bench: $(READY_DEV)
	@scripts=$$(grep -l '__name__ == "__main__"' tests/bench/*.py); \
	if [ ! -d "$${PAGETRAIL_DATA:-}" ]; then \
	  echo "bench: PAGETRAIL_DATA names no folder; only what needs no data is measured"; \
	  scripts=$$(grep -L 'mmlongbench\|PAGETRAIL_DATA' $$scripts); fi; \
	for script in $$scripts; do \
	  echo "== $$script"; $(BIN)/python "$$script"; done

## examples  write examples/ anew; the same bytes come out every time
examples: $(READY)
	@$(BIN)/python scripts/make_examples.py examples

## lock      resolve requirements/dev.lock anew
lock: $(READY_DEV)
	@$(PIP) uv
	@$(BIN)/uv pip compile -q pyproject.toml --group dev --extra local --extra remote \
	  --extra openclip --universal --python-version 3.11 --no-emit-index-url \
	  --no-emit-find-links --custom-compile-command "make lock" --override <(printf '%s\n' \
	  "torch ; python_version < '3'" "torchvision ; python_version < '3'") \
	  --upgrade -o requirements/dev.lock

## clean     remove everything that the other targets made, the examples apart
clean:
	@rm -rf .venv .venv-vision demo build dist .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	  .import_linter_cache
	@find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv module is missing; on Debian: apt-get install python3-venv"; exit 1; }
	@$(PYTHON) -m venv .venv

$(READY): .venv/bin/python pyproject.toml requirements/dev.lock
	@echo "installing pagetrail into .venv"
	@$(PIP) -c requirements/dev.lock -e .
	@touch $@

$(READY_DEV): $(READY)
	@echo "installing the development tools into .venv"
	@$(PIP) 'pip>=25.1'
	@$(PIP) -c requirements/dev.lock $(TORCH) -e '.[local,remote]' --group dev
	@touch $@

$(READY_VISION): .venv/bin/python pyproject.toml requirements/dev.lock
	@echo "installing torch, torchvision and open_clip into .venv-vision"
	@[ -x $(VISION)/python ] || $(PYTHON) -m venv .venv-vision
	@$(VISION)/python -m pip install -qq --disable-pip-version-check 'pip>=25.1'
	@$(VISION)/python -m pip install -qq --no-compile -c requirements/dev.lock \
	  $(TORCH_PAIR) -e '.[local,remote,openclip]' --group test
	@touch $@

# Office documents are read through LibreOffice; where it cannot be had, their tests skip and say so.
office:
	@if command -v soffice >/dev/null || command -v libreoffice >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing LibreOffice for the tests of office documents"; \
	  export DEBIAN_FRONTEND=noninteractive; \
	  get() { apt-get install -y -qq --no-install-recommends $(OFFICE) >/dev/null 2>&1; }; \
	  get || { apt-get update -qq >/dev/null 2>&1 && get; } && exit 0; fi; \
	echo "LibreOffice is not installed: the tests of office documents will skip"
