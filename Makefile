# Two commands do everything on a fresh machine with Python >= 3.11, make and git:
#   make demo   the whole main job, from an empty directory to a reconciled object
#   make test   every test but the slow ones
SHELL := /usr/bin/env bash
.SHELLFLAGS := -o pipefail -ec
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Extra arguments for pytest: make test ARGS="-k names -x"
ARGS ?=
# The tests start hundreds of Python processes. Without bytecode, each of them compiles pykb again.
unexport PYTHONDONTWRITEBYTECODE

# $(call need,PROGRAM,REMEDY): one message if a program is missing.
need = command -v "$(1)" >/dev/null 2>&1 || { echo "error: $(1) is not on PATH" >&2; echo "help: $(2)" >&2; exit 1; }

##@ Use

.PHONY: help
help: ## Show this text.
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n"} \
	  /^[a-zA-Z0-9_-]+:.*##/ {printf "  \033[36m%-18s\033[0m %s\n", $$1, $$2} \
	  /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)}' $(MAKEFILE_LIST)

.PHONY: demo
demo: env ## Scaffold an operator, run it on an embedded control plane, show a reconciled object, clean up.
	@$(BIN)/python hack/demo.py

.PHONY: screencast
screencast: env ## Record the commands that the README and a tutorial show, and draw them (docs/images).
	@$(BIN)/python -m hack.screencast

.PHONY: pictures
pictures: env ## Photograph the page of `pykb dev` and a finding, which guides show (docs/images).
	@$(BIN)/python -m hack.page_pictures

##@ Develop

.PHONY: env
env: $(VENV)/.ready ## Make the environment in .venv with uv: the one on PATH, else the one that requirements.txt pins.

# uv takes the Python that is there, and the index and certificates that pip is configured with by its variables.
export UV_PYTHON_DOWNLOADS := never
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
ifdef PIP_CERT
export SSL_CERT_FILE ?= $(PIP_CERT)
endif

# $(call venv,FOLDER,REQUIREMENTS): an environment with the packages that a file pins.
define venv
$(call need,$(PYTHON),name the Python 3.11 or newer that you have: make PYTHON=python3.13 ...); \
"$(PYTHON)" -c 'import sys; sys.exit("error: pykb needs Python 3.11 or newer, $(PYTHON) is " + sys.version.split()[0] + "\nhelp: make PYTHON=python3.13 ..." if sys.version_info < (3, 11) else 0)'; \
uv=$$(command -v uv || true); \
if [ -z "$$uv" ] && [ ! -x build/uv/bin/uv ]; then \
  mkdir -p build; pip=("$(PYTHON)" -m pip install --target build/uv --upgrade); \
  "$(PYTHON)" -c 'import pip' 2>/dev/null || { "$(PYTHON)" -m venv build/uv; pip=(build/uv/bin/python -m pip install); }; \
  awk '/^[^ #]/ { is_uv = /^uv==/ } is_uv' requirements.txt >build/uv.txt; \
  "$${pip[@]}" --quiet --disable-pip-version-check --root-user-action ignore --require-hashes -r build/uv.txt; \
fi; \
uv=$${uv:-build/uv/bin/uv}; \
"$$uv" venv --quiet --allow-existing --python "$(PYTHON)" "$(1)"; \
"$$uv" pip install --quiet --python "$(1)/bin/python" --require-hashes -r $(2)
endef

$(VENV)/.ready: requirements.txt pyproject.toml
	@$(call venv,$(VENV),requirements.txt); \
	"$$uv" pip install --quiet --python "$(BIN)/python" --no-deps --no-build-isolation -e .
	@touch "$@"

.PHONY: fmt
fmt: env ## Format the code.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only --quiet .

PAGE := hack/page

$(PAGE)/node_modules/.ready: $(PAGE)/package-lock.json
	@$(call need,npm,install Node.js: the page of `pykb dev` needs it to check its types)
	@npm ci --silent --prefix $(PAGE) --ignore-scripts --no-audit --no-fund
	@touch "$@"

.PHONY: lint
lint: env $(PAGE)/node_modules/.ready ## Check style, types and layers.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(PAGE)/node_modules/.bin/tsc --project $(PAGE)
	$(BIN)/lint-imports

.PHONY: golden
golden: env ## Write testdata anew from what pykb does now; read the diff before committing it.
	$(BIN)/python -m hack.samples
	$(BIN)/python -m hack.write_reference
	$(BIN)/pytest -q --update-golden tests/golden tests/ui tests/unit/markers/test_coverage.py tests/unit/markers/test_messages.py

.PHONY: lock
lock: env ## Pin the newest allowed versions of all dependencies, with hashes.
	$(BIN)/uv pip compile --quiet pyproject.toml --extra cli --extra lsp --extra otel --extra test --group dev --universal --python-version 3.11 \
	  --generate-hashes --no-header --upgrade -o requirements.txt
	$(BIN)/uv pip compile --quiet --group docs --universal --python-version 3.11 \
	  --generate-hashes --no-header --upgrade -o requirements-docs.txt

##@ Document

# The site has an environment of its own: it reads the sources of pykb and imports nothing of it.
DOCS_VENV ?= .venv-docs
# Where the repository is, for links to files outside docs/: make docs REPOSITORY=https://github.com/OWNER/NAME
REPOSITORY ?=
export REPOSITORY
# Material announces its successor in each run.
export NO_MKDOCS_2_WARNING := 1

$(DOCS_VENV)/.ready: requirements-docs.txt hack/site/package-lock.json
	@$(call need,npm,install Node.js: the documentation site gets two scripts by npm)
	@$(call venv,$(DOCS_VENV),requirements-docs.txt)
	@npm ci --silent --prefix hack/site --ignore-scripts --no-audit --no-fund
	@touch "$@"

.PHONY: docs
docs: $(DOCS_VENV)/.ready ## Build the documentation site in build/site, and check its links.
	$(DOCS_VENV)/bin/python -m doctest hack/site/docstrings.py
	$(DOCS_VENV)/bin/mkdocs build # not --quiet: it would not count warnings, which make a strict build fail

.PHONY: docs-serve
docs-serve: $(DOCS_VENV)/.ready ## Serve the documentation site on port 8000, and follow changes.
	$(DOCS_VENV)/bin/mkdocs serve --no-strict

.PHONY: docs-version
docs-version: $(DOCS_VENV)/.ready ## Commit the site of a version to the branch gh-pages: make docs-version VERSION=0.1
	@if [ -z "$(VERSION)" ]; then echo "error: no version was named" >&2; echo "help: make docs-version VERSION=0.1" >&2; exit 2; fi
	PATH="$(abspath $(DOCS_VENV))/bin:$$PATH" mike deploy --update-aliases "$(VERSION)" latest
	PATH="$(abspath $(DOCS_VENV))/bin:$$PATH" mike set-default latest
	@$(MAKE) --no-print-directory docs-not-found

.PHONY: docs-not-found
docs-not-found: ## Commit the page for addresses without one to the branch gh-pages. mike writes only below a version.
	@page=$$(git hash-object -w hack/site/404.html) && \
	tree=$$({ git ls-tree gh-pages | awk '$$4 != "404.html"'; printf '100644 blob %s\t404.html\n' "$$page"; } | git mktree) && \
	commit=$$(git commit-tree -p gh-pages -m "Say what to do where there is no page" "$$tree") && \
	git update-ref refs/heads/gh-pages "$$commit"

##@ Test

.PHONY: assets
assets: env ## Get the control plane that the tests start: some minutes the first time, nothing afterwards.
	@$(BIN)/pykb envtest use >/dev/null

# One worker more than cores, since many tests wait for processes and servers. A module stays on one worker, which sets
# up its fixtures once; in alphabetical order, the longest modules come first. Tests that ARGS names start at once.
WORKERS ?= $(if $(filter -k% tests/%,$(ARGS)),0,$(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1))))
PYTEST = $(BIN)/pytest -q -n $(WORKERS) --dist loadscope --no-loadscope-reorder

.PHONY: test
test: assets ## Run every test but the slow ones, on all cores: make test ARGS="-k name", or ARGS="-n 0" for one process.
	$(PYTEST) -m "not slow and not browser" $(ARGS)

.PHONY: test-browser
test-browser: assets $(PAGE)/node_modules/.ready ## Run the tests of the page of `pykb dev` in chromium.
	$(BIN)/pytest -q -m browser tests/browser $(ARGS)

.PHONY: test-all
test-all: assets ## Run all tests, the slow ones too, with 100,000 cases of each fuzzer.
	PYKB_FUZZ_CASES=100000 $(PYTEST) --timeout 1800 $(ARGS)

# What an API server judges, and the objects that it stores.
ON_SERVER := tests/e2e tests/golden_projects tests/chaos tests/apiserver

.PHONY: test-kubernetes
test-kubernetes: env ## Run the tests that an API server judges, with one of another version: make test-kubernetes VERSION=1.33
	@if [ -z "$(VERSION)" ]; then echo "error: no version of Kubernetes was named" >&2; \
	  echo "help: make test-kubernetes VERSION=1.33" >&2; exit 2; fi
	@unset KUBEBUILDER_ASSETS; assets=$$($(BIN)/pykb envtest use "$(VERSION)"); export KUBEBUILDER_ASSETS="$$assets"; \
	"$$assets/kube-apiserver" --version; \
	$(PYTEST) -m "(apiserver or e2e) and not slow and not default_kubernetes" $(if $(filter tests/%,$(ARGS)),,$(ON_SERVER)) $(ARGS)

.PHONY: test-quick
test-quick: env ## Run the tests that need no control plane, no Go and no generated project.
	$(PYTEST) -m "not slow and not apiserver and not browser and not differential and not e2e" $(ARGS)

# What can differ with a dependency. The others stay as requirements.txt pins them, but OpenTelemetry's SDK needs the
# version of its API.
DEPENDENT := tests/unit tests/golden tests/ui tests/semantics tests/apiserver/client tests/apiserver/runtime \
  tests/apiserver/testing tests/apiserver/conformance tests/explorer

.PHONY: test-dependencies
test-dependencies: BIN = .venv-$(RESOLUTION)/bin
test-dependencies: ## Run the tests with the oldest or newest packages allowed: make test-dependencies RESOLUTION=lowest-direct
	@case "$(RESOLUTION)" in lowest-direct|highest) ;; *) echo "error: RESOLUTION is neither lowest-direct nor highest" >&2; \
	  echo "help: make test-dependencies RESOLUTION=lowest-direct, or RESOLUTION=highest" >&2; exit 2;; esac
	@$(call venv,.venv-$(RESOLUTION),requirements.txt); \
	"$$uv" pip install --python "$(BIN)/python" --upgrade --resolution "$(RESOLUTION)" -e ".[cli,otel,test]" "opentelemetry-sdk>=1"
	@$(BIN)/pykb envtest use >/dev/null
	$(PYTEST) -m "not slow" $(DEPENDENT) $(ARGS)

# What does not depend on Linux: no processes, no /proc, no control plane.
PORTABLE := tests/golden tests/unit/api tests/unit/diagnostics tests/unit/gen tests/unit/gen_rbac tests/unit/gen_webhook \
  tests/unit/importer tests/unit/markers tests/unit/meta tests/unit/project tests/unit/python_source tests/unit/reading

.PHONY: test-portable
test-portable: env ## Run the tests that can pass on any system: types, markers, generator, readers of text.
	$(PYTEST) -m "not slow and not apiserver and not differential and not e2e" $(PORTABLE) $(ARGS)

.PHONY: test-corpus
test-corpus: env ## Import a folder of CRDs, generate them again, compare: make test-corpus CRD_CORPUS=FOLDER
	@if [ -z "$(CRD_CORPUS)" ]; then echo "error: no folder of CRDs was named" >&2; \
	  echo "help: make test-corpus CRD_CORPUS=FOLDER" >&2; exit 2; fi
	CRD_CORPUS="$(abspath $(CRD_CORPUS))" $(BIN)/pytest -q $(ARGS) tests/apiserver/importer/corpus.py

# The helm program of the tests on a node.
NODE_HELM ?= helm

.PHONY: test-node
test-node: env ## Run the samples as pods in the cluster of KUBECONFIG: make test-node NODE_LOAD="kind load docker-image" NODE_AUDIT=FILE
	@if [ -z "$(NODE_LOAD)" ] || [ -z "$(NODE_AUDIT)" ]; then echo "error: no cluster with a node was named" >&2; \
	  echo "help: CONTRIBUTING.md, 'Tests on a node'" >&2; exit 2; fi
	PYKB_NODE_LOAD="$(NODE_LOAD)" PYKB_NODE_AUDIT="$(abspath $(NODE_AUDIT))" PYKB_NODE_HELM="$(NODE_HELM)" \
	  $(BIN)/pytest -q $(ARGS) tests/node

.PHONY: test-actors
test-actors: env ## Compare the explorer's stand-ins for controllers with the cluster of KUBECONFIG, which needs no node.
	@if [ -z "$(KUBECONFIG)" ]; then echo "error: no cluster was named: set KUBECONFIG" >&2; exit 2; fi
	$(BIN)/pytest -q $(ARGS) tests/explorer/actors/cluster.py

.PHONY: bench
bench: env ## Compare with the peers in one run and print ratios.
	$(BIN)/python -m benchmarks

.PHONY: bench-runtime
bench-runtime: env ## Compare the runtime with Go's and with kopf: make bench-runtime ARGS="sync status --quick"
	$(BIN)/python -m benchmarks.runtime $(ARGS)

##@ Editors

VSCODE := editors/vscode

$(VSCODE)/node_modules/.ready: $(VSCODE)/package-lock.json
	@$(call need,npm,install Node.js: the extension is written in TypeScript)
	@npm ci --silent --prefix $(VSCODE) --ignore-scripts --no-audit --no-fund
	@touch "$@"

.PHONY: vscode
vscode: env $(VSCODE)/node_modules/.ready ## Test the extension of VS Code, and build it: build/pykb.vsix
	@mkdir -p build
	cd $(VSCODE) && VENV="$(VENV)" npm test && \
	  npm run package -- "$$("$(abspath $(BIN))/python" -c 'import pykb; print(pykb.__version__)')" --out "$(abspath build)/pykb.vsix"

##@ Release

.PHONY: dist
dist: env ## Build the source distribution and the wheel.
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

.PHONY: artefacts
artefacts: dist ## Install the wheel into a new environment, scaffold a project with it, and run its tests.
	hack/try_artefacts.sh dist

# The tool is not one of ours: it has many dependencies, and only releases need it.
CYCLONEDX ?= cyclonedx-bom==7.5.0

.PHONY: sbom
sbom: dist ## List what an installation of the wheel consists of, in build/sbom.cdx.json.
	rm -rf build/sbom build/sbom.cdx.json
	"$(PYTHON)" -m venv build/sbom/installed
	"$(PYTHON)" -m venv build/sbom/tool
	build/sbom/installed/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[cli]"
	build/sbom/tool/bin/python -m pip install --quiet --disable-pip-version-check "$(CYCLONEDX)"
	build/sbom/tool/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	  --output-file build/sbom.cdx.json build/sbom/installed/bin/python
