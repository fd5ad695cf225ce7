# The commands of this repository. `make` alone lists them.
#
# Every target sets up what it needs: with apt-get on Debian or Ubuntu as root,
# else it lists what is missing. Go 1.26 or newer must be there.

.DEFAULT_GOAL := help
.PHONY: help up down test race lint bench fuzz soak e2e dashboards build tools
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
	@echo "  make up MODE=processes   plain processes, Ctrl-C stops them     make up MODE=compose   containers"
	@echo "  make up FOR=60s          processes that stop by themselves      make up PORTS=20000    processes on other ports"
	@echo "  make bench BENCH=Uncontended COUNT=7     make fuzz FUZZ=FuzzParse FUZZTIME=30s"

up: ## run everything on this machine: in containers where an engine answers, else as processes
	@MODE=$(MODE) deploy/compose/stack.sh up $(UP)

down: ## stop what make up has started
	@deploy/compose/stack.sh down

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

soak: ## what takes two hours: kill botd 1,000 times on each way to Signal; 20,000 sessions, chaos and fuzzing of busd
	@tools/setup.sh
	QUARTET_SOAK=1 go test -count=1 -v -timeout 3h -parallel 4 -run '^Test(Kill|Flood)' ./e2e/
	QUARTET_SOAK=1 go test -count=1 -v -timeout 3h ./services/busd/differential/ ./services/busd/chaos/
	FUZZTIME=5m FUZZ_IN=services/busd tools/fuzz.sh

e2e: ## run the tests of the built programs together
	@tools/setup.sh --or-skip chromium qemu dbus
	go test -count=1 -timeout 15m ./e2e/...

dashboards: build ## make the dashboards, and show on the running system that they show something
	@tools/prometheus.sh
	@cd tools && GOWORK=off go build -trimpath -o ../bin/ ./cmd/dashboards
	@[ -n "$$CI" ] || bin/dashboards generate
	@bin/dashboards check
	@tools/promcheck.sh
	@bin/dashboards live -prometheus bin/prometheus/prometheus $(if $(PORTS),-ports $(PORTS)) $(ARGS)

# Go decides what is up to date.
build:
	@tools/setup.sh
	@mkdir -p bin
	@[ -x bin/quartet ] || echo "building; the first time this takes a minute or two"
	@CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/quartet $(patsubst %,./%/cmd/...,sim $(wildcard services/*))

tools:
	@tools/setup.sh
	@mkdir -p bin
	@cd tools && GOWORK=off go build -trimpath -o ../bin/ ./cmd/... tool
