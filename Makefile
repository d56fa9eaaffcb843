# Everything a person or a pipeline does with this repository. `make` alone explains itself.
# `make run` and `make test` need Go, git and make, and no root; what else a target needs, it says.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Pinned checkers live in .cache/bin, so that nothing is installed outside the work tree.
TOOLS         := $(CURDIR)/.cache/bin
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT       := mvdan.cc/gofumpt@v0.12.0

# Settings of single targets: make fuzz FUZZTIME=1m, make up ARGS='--ephemeral'.
FUZZTIME ?= 5s
ARGS     ?=

# The version that `jobgraph version`, /version and the images say.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The commit stands in every program where git knows one; the toolchain leaves it out of several programs of one workspace by itself.
VCS := $(if $(shell git rev-parse HEAD 2>/dev/null),-buildvcs=true)

# House rules read files of other modules, which the test cache does not see; they always run.
HOUSE := ./cmd/jobgraph/internal/house

# What test-full adds to test, in order of cost. Each is a target of its own; .ci/run times them one by one.
FULL := lint race workers metrics fuzz bench sweep e2e e2e-compose

.PHONY: help build test test-full race fuzz bench lint fmt tidy gen verify up run images e2e e2e-compose sweep \
	workers metrics phases tools clean pgo

help: ## list the targets
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-12s %s\n", $$1, $$2 }'

# The profile that images are compiled by. `make build PGO=$(PROFILE)` takes it, too: it doubles what has to be compiled.
PROFILE := deploy/jobgraph.pgo
PGO     ?= off

build: ## build every program into bin/ and the example experts into examples/bin/
	@mkdir -p bin
	go build $(VCS) -pgo=$(if $(filter-out off,$(PGO)),$(abspath $(PGO)),off) -o bin/ ./cmd/jobgraph ./services/planner ./services/scheduler ./services/expert-runner
	go build -o examples/bin/ ./examples/cmd/...

run: ## run the example job on this source tree, with live progress and a result
	go build -o examples/bin/ ./examples/cmd/...
	go run ./cmd/jobgraph run -f examples/inventory/job.json $(ARGS)

up: ## start bus, planner, scheduler, expert-runner and HTTP in one process (ARGS='--store DIR')
	go run ./cmd/jobgraph up $(ARGS)

test: ## vet and test all modules
	go vet work
	go test work
	go test -count=1 $(HOUSE)

test-full: test ## test, and everything that needs more than Go: race, lint, foreign workers, promtool, crashes, containers
	@for phase in $(FULL); do echo "== $$phase"; $(MAKE) --no-print-directory $$phase; done

phases: ## name what test-full adds to test
	@echo $(FULL)

# A program under the race detector sleeps for a second before it exits, unless told otherwise; the tests end hundreds of them.
# The house only reads the tree, in one goroutine.
race: ## test all modules with the race detector (needs a C compiler)
	CGO_ENABLED=1 GORACE="atexit_sleep_ms=0 $${GORACE:-}" go test -race -exec "$(CURDIR)/scripts/in-memory.sh" $$(go list work | grep -v "/internal/house$$")

fuzz: ## run each fuzz target for FUZZTIME (5s)
	scripts/fuzz.sh $(FUZZTIME)

bench: ## run each Go benchmark once, so that it keeps working
	scripts/bench.sh

sweep: ## kill every service at every publish, save and ack boundary
	scripts/sweep.sh

e2e: ## run jobs on real processes that are killed on the way
	scripts/tagged.sh e2e

e2e-compose: ## run jobs on containers that are restarted on the way (needs a Docker engine and docker-compose)
	scripts/e2e-compose.sh

workers: ## run jobs on workers in Python and shell that speak to the bus themselves, and check them (needs python3, jq)
	scripts/workers.sh

metrics: ## check the metrics of every service with promtool (needs promtool and curl)
	scripts/metrics.sh

lint: $(TOOLS)/golangci-lint $(TOOLS)/staticcheck $(TOOLS)/gofumpt ## check style, the import law and common mistakes
	$(TOOLS)/golangci-lint run $$(go list -m -f '{{.Dir}}/...')
	$(TOOLS)/staticcheck -tags e2e,sweep $$(go list work)
	@unformatted=$$($(TOOLS)/gofumpt -l cmd examples pkg services); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi

fmt: $(TOOLS)/gofumpt ## format all Go files
	$(TOOLS)/gofumpt -w cmd examples pkg services

tidy: ## tidy the requirements of every module against its siblings
	scripts/tidy.sh

gen: ## write what is generated from code: schemas, diagrams, reference pages
	go generate work

verify: gen fmt ## check that generated and formatted files are committed
	git diff --exit-code

pgo: ## measure anew what the profile for the compiler is made of (some minutes on a quiet machine)
	scripts/pgo.sh $(PROFILE)

images: ## build the container images jobgraph/{jobgraph,planner,scheduler,expert-runner,nats} (needs a Docker engine)
	VERSION=$(VERSION) scripts/images.sh

tools: $(TOOLS)/golangci-lint $(TOOLS)/staticcheck $(TOOLS)/gofumpt ## install the pinned checkers into .cache/bin

clean: ## remove what these targets have built
	rm -rf bin out examples/bin .cache

$(TOOLS)/golangci-lint: Makefile
	GOWORK=off GOBIN=$(TOOLS) go install $(GOLANGCI_LINT) && touch $@

$(TOOLS)/staticcheck: Makefile
	GOWORK=off GOBIN=$(TOOLS) go install $(STATICCHECK) && touch $@

$(TOOLS)/gofumpt: Makefile
	GOWORK=off GOBIN=$(TOOLS) go install $(GOFUMPT) && touch $@
