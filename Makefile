# What a person does with argosy's source. Everything that is needed is installed into a cache
# outside the checkout at first use; the second run starts at once.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

ENV    := scripts/env
JOBS   ?= 2
MIRROR ?=
PYTEST := $(ENV) python -m pytest -n $(JOBS) --dist loadgroup

.PHONY: help demo test test-integration bench lint fmt types lock clean

help: ## Show what there is.
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 26

demo: ## Bring up a platform on a local cluster (MIRROR=DIR: upstream from a mirror, not the network).
	@$(ENV) argosy demo $(if $(MIRROR),--mirror $(MIRROR))

test: lint ## Check the code and run the tests, the real API server among them.
	@$(ENV) argosy dev tools kustomize helm cluster # compiled once, outside of any test's time limit
	@$(PYTEST) -m "not integration" tests

test-integration: ## Run the tests that need heavy real servers and whole releases.
	@$(ENV) argosy dev tools kustomize helm cluster argoexec tekton-entrypoint
	@$(PYTEST) -m integration tests

bench: ## Measure, side by side with the peers, and print the table.
	@$(ENV) python -m benchmarks.run $(if $(MIRROR),--mirror $(MIRROR))

lint: ## Style, types, import directions.
	@$(ENV) ruff check .
	@$(ENV) ruff format --check .
	@$(ENV) mypy
	@$(ENV) lint-imports

fmt: ## Format the code.
	@$(ENV) ruff check --fix .
	@$(ENV) ruff format .

lock: ## Pin the dependencies anew, with hashes.
	@scripts/lock

clean: ## Remove what tools left in the checkout; the cache outside stays.
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
