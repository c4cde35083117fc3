# make demo, make test: all the set-up there is. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
PYTEST := $(BIN)/python -m pytest -q -rs
PIP_INSTALL := $(BIN)/python -m pip install -qq --no-compile -c constraints.txt

# One thread per process: the tests run in $(JOBS) processes, the demo is small.
export OMP_NUM_THREADS ?= 1

# Without bytecode on disk every process compiles torch and all else from source, which takes 9 s.
unexport PYTHONDONTWRITEBYTECODE

# Tests that need nothing newer than the package itself does.
SURGERY := $(addprefix tests/network/surgery/test_,channel_groups.py places.py remove.py widen.py)
READING := $(addprefix tests/network/reading/test_,modules.py random_models.py refused.py sklearn.py)
LOWEST := $(SURGERY) $(READING) tests/growth/test_cost.py tests/regions/test_boundary.py tests/lab/test_sweep.py \
	tests/test_environments.py

# Examples that compile the largest kernels, beside the linters; all later processes read them from numba's cache.
KERNELS := $(addprefix src/creases/,splines/_fit.py lab/_training/train.py regions/_plane/plane.py regions/_space/space.py \
	certify/_nearest/nearest.py certify/properties/_verify.py)

.DEFAULT_GOAL := help
.PHONY: help demo test slow kernels thorough random lowest lint format bench benchmarks-page docs pictures reproduce viewer chromium clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/installed ## set up, grow a small network, map it exactly, draw it
	$(BIN)/creases demo

test: $(VENV)/dev ## set up, check and test everything but what takes long
	$(MAKE) --no-print-directory --jobs 2 lint kernels
	$(PYTEST) -n $(JOBS) --dist worksteal --durations 25 -m "not slow and not thorough"

slow: $(VENV)/dev chromium ## run the tests that take long: browsers, processes, every claim
	$(PYTEST) -m "not thorough" tests/web
	$(PYTEST) -n $(JOBS) --dist worksteal --durations 25 -m "slow and not thorough" --ignore tests/web tests reproduction

thorough: $(VENV)/dev ## run the tests that take longest: series of damaged files, killed runs, many ranks, notebooks
	$(PYTEST) -n $(JOBS) --dist worksteal -m thorough tests reproduction

random: $(VENV)/dev ## run the property tests with new random examples
	$(PYTEST) -n $(JOBS) --dist worksteal --hypothesis-profile random -m hypothesis tests reproduction

kernels: $(VENV)/dev
	@$(PYTEST) $(KERNELS)

lowest: ## test with the lowest versions that pyproject.toml names, in an environment of its own
	$(PYTHON) -m venv out/lowest
	$(PYTHON) tools/lowest_versions.py > out/lowest.txt
	out/lowest/bin/python -m pip install -qq -c out/lowest.txt -e '.[onnx,studio,video]' pytest hypothesis httpx
	out/lowest/bin/python -m pytest -q -m "not thorough" -W default $(LOWEST)

lint: $(VENV)/dev ## check style, types, layers, doors, words and sizes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	nice $(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_doors.py
	$(BIN)/python tools/check_words.py
	$(BIN)/python tools/sizes.py

format: $(VENV)/dev ## put the code into the one style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/dev ## measure the partitions beside a forward pass at their vertices and relucent
	$(PIP_INSTALL) -e '.[bench]' || echo "bench: relucent cannot be installed here; running without it"
	$(BIN)/python bench/regions.py

benchmarks-page: $(VENV)/dev ## write docs/benchmarks.md from bench/benchmarks.md and bench/results
	$(BIN)/python bench/page.py

reproduce: $(VENV)/installed ## run every claim of the sources at quick scale
	$(BIN)/creases reproduce --all --scale quick --jobs $(JOBS) --out out/reproduced

docs: $(VENV)/dev ## build the documentation into out/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pictures: $(VENV)/dev ## make the pictures of the README, the tutorials and the gallery again
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/notebooks.py
	$(BIN)/python docs/gallery.py

viewer: ## check, test and build the viewer of reports and studio from web/ (needs Node)
	cd web && npm ci --no-audit --no-fund && npm run check && npm run lint && npm test && npm run build

chromium:
	@.ci/chromium

clean: ## remove the environment, the caches and the outputs
	rm -rf $(VENV) out dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests bench reproduction -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "creases needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)

# The stamps make a second run quick; a change of the requirements installs again.
$(VENV)/installed: pyproject.toml reproduction/pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing creases into $(VENV) (a few minutes the first time)"
	$(PIP_INSTALL) -e . -e ./reproduction
	@touch $@

$(VENV)/dev: pyproject.toml reproduction/pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing creases and its development tools into $(VENV) (a few minutes the first time)"
	$(PIP_INSTALL) -e '.[dev]' -e ./reproduction
	@touch $@ $(VENV)/installed
