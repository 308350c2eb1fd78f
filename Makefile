# make demo   all set-up, then a real tiny AutoModel training launched from a notebook cell
# make test   all set-up, all tests (those against Slurm, SkyPilot and Chromium where `make apt` has been run, as root)
# make test-sky  the tests against a real SkyPilot (root): not in `make test` yet
# make soak   the same tests with full counts: hours
# make check  format, lint, types, import directions: seconds
# make lab    JupyterLab on the notebooks
# make bench  the numbers in docs/
# make apt    Debian packages that the tests use

PYTHON ?= python3
PYTEST_OPTIONS ?=
BIN := .venv/bin
SOURCES := automodel_nb tests tools benchmarks
LOCK := requirements/automodel-cpu.txt
# the tests bring their own parallelism, and a 2-core machine has none to give away
export OMP_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-sky soak check lab bench apt clean
.DELETE_ON_ERROR:

demo: .venv/demo .demo/tiny
	@$(BIN)/python tools/demo.py notebooks/01_first_launch.ipynb .demo

test: .venv/dev
	$(BIN)/pytest -m "not soak and not skypilot" $(PYTEST_OPTIONS)

# the real SkyPilot: a lab of its own (root, a quarter of an hour), a Python of its own, since its pins differ from
# JupyterLab's; not part of `make test` yet
test-sky: .venv/dev .lab/sky/venv/ready
	.lab/sky/venv/bin/python -m pytest -m skypilot tests/skypilot $(PYTEST_OPTIONS)

.lab/sky/venv/ready: tests/skypilot/requirements.txt
	@echo "installing SkyPilot into .lab/sky/venv"
	@$(PYTHON) -m venv .lab/sky/venv
	@.lab/sky/venv/bin/pip install --quiet --requirement $<
	@touch $@

soak: .venv/dev
	SOAK=1 $(BIN)/pytest $(PYTEST_OPTIONS)

check: .venv/dev
	$(BIN)/ruff format --check --quiet $(SOURCES)
	$(BIN)/ruff check --quiet $(SOURCES)
	$(BIN)/mypy
	$(BIN)/pytest -q tests/unit/test_architecture.py

lab: .venv/demo
	cd notebooks && ../$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root)

bench: .venv/dev
	for benchmark in $(filter-out %/log_generator.py,$(wildcard benchmarks/*.py)); do $(BIN)/python $$benchmark || exit 1; done

apt:
	tools/apt-install.sh

clean:
	rm -rf .venv .demo .lab .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	@$(PYTHON) -m venv .venv || { rm -rf .venv; echo "no venv: apt-get install python3-venv"; exit 1; }

# torch with what it depends on (pip takes a CPU build where it is offered one), the rest of AutoModel without
.venv/automodel: $(LOCK) | .venv/bin/python
	@echo "installing PyTorch and AutoModel into .venv"
	@$(BIN)/pip install -qq --constraint $(LOCK) torch
	@$(BIN)/pip install -qq --no-deps --requirement $(LOCK)
	@touch $@

.venv/demo .venv/dev: .venv/%: .venv/automodel pyproject.toml requirements/dev.txt
	@echo "installing automodel_nb with JupyterLab ($*) into .venv"
	@$(BIN)/pip install -qq --constraint $(LOCK) --constraint requirements/dev.txt --editable '.[$*]'
	@touch $@

.demo/tiny: tools/make_tiny.py | .venv/automodel
	@rm -rf $@
	@$(BIN)/python $< $@
	@touch $@
