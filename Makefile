# The commands of this repository. `make` alone lists them.
#
# Every target sets up what it needs: with apt-get on Debian or Ubuntu as root,
# else it lists what is missing. Go 1.26 or newer must be there.

.DEFAULT_GOAL := help
.PHONY: help up down test race lint bench fuzz e2e build tools
SHELL := /bin/bash

# A checkout that belongs to somebody else (a mounted volume, a CI clone) must
# build too; then git refuses to tell Go its revision.
# A workspace takes no -mod, and what a caller's GOWORK names is not ours.
export GOFLAGS := $(strip $(filter-out -mod=%,$(GOFLAGS)) -buildvcs=false)
unexport GOWORK

# The cores: what runs under the race detector.
CORES := ./kit/... $(patsubst %,./%/internal/...,$(wildcard services/*))

# make up FOR=60s PORTS=20000 ARGS="--chatter 1s"
UP := $(if $(FOR),--for $(FOR)) $(if $(PORTS),--ports $(PORTS)) $(ARGS)

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  make up FOR=60s      stops by itself     make up PORTS=20000   other ports (else 8080, 8081, 9101)"
	@echo "  make bench BENCH=Uncontended COUNT=7     make fuzz FUZZ=FuzzParse FUZZTIME=30s"

up: build ## run everything on this machine and show it; Ctrl-C stops it
	@bin/quartet up $(UP)

down: ## stop a running make up
	@if [ -x bin/quartet ]; then bin/quartet down; else echo "nothing runs: make up was never run here"; fi

test: ## set up and run all tests
	@tools/setup.sh --or-skip chromium
	go test -timeout 15m work
	cd tools && GOWORK=off go test ./...

race: ## run the tests of the kit and the services' cores under the race detector
	@tools/setup.sh gcc
	CGO_ENABLED=1 go test -race -shuffle=on -timeout 20m $(CORES)

lint: tools ## gofmt, vet, staticcheck, boundaries, tidy go.mod files, known vulnerabilities
	@tools/lint.sh

bench: tools ## measure the kit beside its peers, the services' hot paths, and the whole
	@tools/bench.sh

fuzz: ## fuzz every fuzz test for 30 s
	@tools/setup.sh
	@tools/fuzz.sh

e2e: ## run the tests of the built programs together
	@tools/setup.sh --or-skip chromium
	go test -count=1 -timeout 15m ./e2e/...

# Go decides what is up to date.
build:
	@tools/setup.sh
	@mkdir -p bin
	@[ -x bin/quartet ] || echo "building; the first time this takes a minute or two"
	@go build -trimpath -o bin/ ./cmd/quartet $(patsubst %,./%/cmd/...,sim $(wildcard services/*))

tools:
	@tools/setup.sh
	@mkdir -p bin
	@cd tools && GOWORK=off go build -trimpath -o ../bin/ ./cmd/... tool
