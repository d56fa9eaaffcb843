# Everything a person or a pipeline does with this repository. `make` alone explains itself.
# `make run` and `make test` need Go, git and make, and no root; what else a target needs, it says.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Pinned checkers live in .cache/bin, so that nothing is installed outside the work tree.
TOOLS         := $(CURDIR)/.cache/bin
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOFUMPT       := mvdan.cc/gofumpt@v0.12.0
TSGO          := github.com/microsoft/typescript-go/cmd/tsgo@v0.0.0-20260708042240-2bd066d87f5b # TypeScript's checker, in Go.

# Settings of single targets: make fuzz FUZZTIME=1m, make up ARGS='--ephemeral'.
FUZZTIME ?= 3s
ARGS     ?=

# One way to compile for all targets: what one has built, the next one finds in the cache. Only the race detector needs C.
export CGO_ENABLED := 0
export GOFLAGS     := -trimpath $(GOFLAGS)

# The version that `jobgraph version`, /version and the images say.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The commit stands in every program where git knows one; the toolchain leaves it out of several programs of one workspace by itself.
VCS := $(if $(shell git rev-parse HEAD 2>/dev/null),-buildvcs=true)

# The rules of the house read files of other modules, which the test cache does not see; they always run.
LINT := ./cmd/internal/lint

# The packages whose tests take longest start first, and the one that needs SQLite, which one processor compiles for long: one that began
# last would leave the other processors idle. Two packages more than there are processors are tested at once, since tests of whole services
# mostly wait. The rest is compiled and vetted beside them, in the time that they leave over.
export LONGEST := ./cmd/jobgraph ./services/expert-runner/app ./services/scheduler/app ./cmd/jobgraph/internal/stack \
	./services/expert-runner/internal/expert/command ./pkg/client ./pkg/bus ./cmd/internal/bench ./tools/internal/serve
export ATONCE  := $(shell expr $$(nproc 2>/dev/null || echo 2) + 2)

# Tests keep little memory and allocate much: with four times the default growth, they take about an eighth less processor time.
export TEST_GOGC ?= 400

# What test-full adds to test. Each is a target of its own; .ci/run times them one by one, with lint and e2e beside others.
FULL := modules release-test race workers metrics fuzz bench browser sweep e2e e2e-compose lint

.PHONY: help build cli test test-full modules release release-test race fuzz bench lint fmt tidy gen verify up run images e2e e2e-compose sweep \
	workers metrics versions phases tools clean pgo picture pictures measure browser browser-bench

help: ## list the targets
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-12s %s\n", $$1, $$2 }'

# The profile that images are compiled by. `make build PGO=$(PROFILE)` takes it, too: it doubles what has to be compiled.
PROFILE := deploy/jobgraph.pgo
PGO     ?= off

# Static and stripped, as in the images; the debugger wants `go build -gcflags 'all=-N -l'` (docs/debug.md).
STATIC := go build -ldflags '-s -w'

# Leaves the plot library's raster, PDF, EPS and TeX writers out of jobgraph-tools, which writes SVG: 1.2 MB.
SVGONLY := -tags minimal

build: ## build every program into bin/ and the example experts into examples/bin/
	@mkdir -p bin
	$(STATIC) $(VCS) -pgo=$(if $(filter-out off,$(PGO)),$(abspath $(PGO)),off) -o bin/ ./cmd/jobgraph ./services/planner ./services/scheduler ./services/expert-runner ./services/gateway
	$(STATIC) $(VCS) $(SVGONLY) -o bin/ ./tools/jobgraph-tools
	$(STATIC) -o examples/bin/ ./examples/cmd/...

cli: ## build bin/jobgraph alone
	@mkdir -p bin
	go build -o bin/ ./cmd/jobgraph

run: cli ## build bin/jobgraph, and run the example job on this source tree, with live progress and a result; ARGS=--open also opens its console
	go build -o examples/bin/ ./examples/cmd/...
	bin/jobgraph run --trust -f examples/inventory/job.json $(ARGS)
	@[[ "$(ARGS)" == *--open* ]] || echo "its console, until Ctrl-C: make run ARGS=--open"

up: cli ## start bus, planner, scheduler, expert-runner and gateway in one process (ARGS='--store DIR')
	bin/jobgraph up $(ARGS)

test: ## vet and test all modules
	go test -p $(ATONCE) -vet=all -toolexec nice -exec "env GOGC=$(TEST_GOGC) $(CURDIR)/scripts/in-memory.sh" -timeout 20m $(LONGEST) $$(go list work | grep -v "$(LINT:.%=%)$$")
	go test -vet=all -count=1 $(LINT)

test-full: test ## test, and everything that needs more than Go: race, lint, foreign workers, promtool, crashes, containers
	@for phase in $(FULL); do echo "== $$phase"; $(MAKE) --no-print-directory $$phase; done

phases: ## name what test-full adds to test
	@echo $(FULL)

race: ## test what has goroutines with the race detector (needs a C compiler)
	scripts/race.sh

modules: ## check that every module by itself is made of what the workspace tests
	scripts/modules.sh

release: ## tag every module for VERSION=vX.Y.Z, in a commit beside the branch, so that `go get` and `go install` find them
	scripts/release.sh "$(VERSION)"

release-test: ## make a release in a clone and get client, CLI and services from it by a module proxy in a folder
	scripts/release-test.sh

fuzz: ## run each fuzz target for FUZZTIME (3s)
	scripts/fuzz.sh $(FUZZTIME)

bench: ## run each Go benchmark once, so that it keeps working
	scripts/bench.sh

sweep: ## kill every service at every publish, save and ack boundary
	scripts/sweep.sh

e2e: ## run jobs on real processes that are killed on the way
	ROOM=6 scripts/tagged.sh e2e -parallel 4 # Files of a gigabyte pass through it.

e2e-compose: ## run jobs on containers that are restarted on the way (needs a Docker engine and docker-compose)
	scripts/e2e-compose.sh

browser: ## play the console in a real Chromium: a first session, every page, by keyboard, on a phone, 10,000 steps; and the tool browser (needs chromium, its headless shell)
	scripts/tagged.sh browser

browser-bench: ## measure how soon the console shows a job, how late an event, the memory and room it takes (needs chromium, a quiet machine)
	go test -tags browser -run '^$$' -bench . -benchtime 5x -timeout 30m ./cmd/jobgraph/browser

workers: ## run jobs on workers in Python and shell that speak to the bus themselves, and check them (needs python3, jq)
	scripts/workers.sh

versions: ## run services of the release before beside those of this tree: every mix, a rolling upgrade and a rollback (needs python3, git history)
	scripts/versions.sh

metrics: ## check the metrics of every service with promtool (needs promtool and curl)
	scripts/metrics.sh

lint: $(TOOLS)/golangci-lint $(TOOLS)/gofumpt $(TOOLS)/tsgo ## check style, types, the import law and common mistakes
	$(TOOLS)/golangci-lint run $$(go list -m -f '{{.Dir}}/...')
	$(TOOLS)/tsgo -p services/gateway/internal/console
	@unformatted=$$($(TOOLS)/gofumpt -l cmd examples pkg services tools); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi

fmt: $(TOOLS)/gofumpt ## format all Go files
	$(TOOLS)/gofumpt -w cmd examples pkg services tools

tidy: ## tidy the requirements of every module against its siblings
	scripts/tidy.sh

gen: ## write what is generated from code: schemas, diagrams, reference pages
	go generate work

verify: gen fmt ## check that generated and formatted files are committed
	git diff --exit-code

picture: ## draw the run of docs/overview.md and record that of the README and the session of docs/terminal.md again
	go test -count=1 ./cmd/jobgraph -run 'Picture|Recording' -update

pictures: ## retake the pictures of docs/console.md (needs chromium and a font, such as Debian's fonts-dejavu-core)
	@mkdir -p docs/console
	PICTURES=$(CURDIR)/docs/console scripts/tagged.sh browser

measure: build ## print what the structure of the code is measured by, beside what is wanted
	go run ./cmd/internal/measure -bin bin .

pgo: ## record what the profile for the compiler is made of (some minutes on a quiet machine)
	scripts/pgo.sh $(PROFILE)

images: ## build the container images jobgraph/{jobgraph,planner,scheduler,expert-runner,gateway,nats} (needs a Docker engine)
	VERSION=$(VERSION) scripts/images.sh

tools: $(TOOLS)/golangci-lint $(TOOLS)/gofumpt $(TOOLS)/tsgo ## install the pinned checkers into .cache/bin

clean: ## remove what these targets have built
	rm -rf bin out examples/bin .cache

$(TOOLS)/golangci-lint: Makefile
	GOWORK=off GOBIN=$(TOOLS) go install $(GOLANGCI_LINT) && touch $@

# It checks a few files once: optimising it takes longer than it ever works.
$(TOOLS)/tsgo: Makefile
	GOWORK=off GOBIN=$(TOOLS) go install -gcflags 'github.com/microsoft/...=-N -l' -ldflags '-s -w' $(TSGO) && touch $@

$(TOOLS)/gofumpt: Makefile
	GOWORK=off GOBIN=$(TOOLS) go install $(GOFUMPT) && touch $@
