# make demo   all set-up, then a real tiny AutoModel training launched from a notebook cell
# make test   all set-up, all tests (those against Slurm, SkyPilot and Chromium where `make apt` has been run, as root)
# make soak   the same tests with full counts: hours
# make check  format, lint, types, import directions: seconds
# make lab    JupyterLab on the notebooks
# make bench  the numbers in docs/
# make images the pictures in docs/images (as root: real trainings on the tests' Slurm)
# make apt    Debian packages that the tests use

PYTHON ?= python3
PYTEST_OPTIONS ?=
BIN := .venv/bin
SOURCES := automodel_nb tests tools benchmarks
LOCK := requirements/automodel-cpu.txt
# the tests bring their own parallelism, and a 2-core machine has none to give away
export OMP_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test soak check lab bench images apt clean
.DELETE_ON_ERROR:

demo: .venv/demo .demo/tiny
	@$(BIN)/python tools/demo.py notebooks/01_first_launch.ipynb .demo

test: .venv/dev .venv/nvrx
	@tools/test.sh "not soak and not skypilot" $(PYTEST_OPTIONS)

# SkyPilot makes a wheel of itself for its nodes, and a new one when a directory of it changes: by __pycache__, say
.lab/sky/venv/ready: tests/skypilot/requirements.txt
	@echo "installing SkyPilot into .lab/sky/venv"
	@rm -rf .lab/sky/venv
	@$(PYTHON) -m venv .lab/sky/venv
	@.lab/sky/venv/bin/pip install -qq --no-compile --requirement $<
	@.lab/sky/venv/bin/python -m compileall -q .lab/sky/venv/lib/python*/site-packages/sky
	@touch $@

soak: .venv/dev .venv/nvrx
	@SOAK=1 tools/test.sh "not skypilot" $(PYTEST_OPTIONS)

check: .venv/dev
	$(BIN)/ruff format --check --quiet $(SOURCES)
	$(BIN)/ruff check --quiet $(SOURCES)
	$(BIN)/mypy
	$(BIN)/pytest -q tests/unit/test_architecture.py

lab: .venv/demo
	cd notebooks && ../$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root)

bench: .venv/dev
	for benchmark in $(filter-out %/log_generator.py,$(wildcard benchmarks/*.py)); do $(BIN)/python $$benchmark || exit 1; done

images: .venv/dev
	$(BIN)/python -m tools.screenshots

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

# a directory of its own: the package pynvml, which it asks for, makes torch print a warning into every log
.venv/nvrx: | .venv/automodel
	@$(BIN)/pip install -qq --no-deps --target $@ nvidia-resiliency-ext==0.4.1 nvidia-ml-py==13.615.71 || \
	  { rm -rf $@; echo "nvidia-resiliency-ext is not to be had for this Python: the test of ft_launcher is skipped"; }

.demo/tiny: tools/make_tiny.py | .venv/automodel
	@rm -rf $@
	@$(BIN)/python $< $@
	@touch $@
