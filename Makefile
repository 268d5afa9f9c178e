# Development tasks. `make` without a target lists them.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)
BIN     := $(CURDIR)/.bin
OUT     := $(CURDIR)/bin

# Test time-outs are per package; two busy cores with the race detector need room.
TESTTIMEOUT ?= 25m
FUZZTIME    ?= 10s
CHAOSFLAGS  ?=
BENCHFLAGS  ?=
MUTATEFLAGS ?=
WHY         ?=

.PHONY: help run build test lint release reproducible deploy-check install-check compose-check module fmt bench budget fuzz mutate chaos structure security-report pictures vuln verify generate tidy clean

help: ## show the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build and serve with the embedded database and bus; prints the address to open
	@exec $(OUT)/sluice serve

build: ## build bin/sluice: static, without symbols and paths
	@mkdir -p $(OUT)
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o $(OUT)/sluice ./cmd/sluice

# The published descriptions of the chat platforms' APIs, where somebody keeps
# them beside the repository: the fakes then check every request against them.
API_SPECS := $(abspath $(CURDIR)/../shared/data)

# The race detector looks at all Go code but SQLite's, which is C translated to Go. That C keeps its data in
# memory of its own, where the detector does not look; instrumenting it finds nothing and makes the tests of
# the database about six times as slow. The driver above it (modernc.org/sqlite) is instrumented.
# Go's code for pictures (image/...) starts no goroutine and writes only to the picture that it is given, and each of our
# pictures stays in the function that reads it (internal/picture, which is instrumented).
NO_RACE := modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory image/...
# A compiler of one package uses one processor (-c=1): packages are compiled beside each other anyway. What debuggers
# need is left out; the stacks of a failure are the same.
LEAN    := '-gcflags=sluice/...=-c=1 -dwarf=false'
# The API's package is the longest to compile (each operation is a copy of the library's code): without inlining it takes 4 s in place of 6.5.
PLAIN   := '-gcflags=sluice/internal/httpapi=-c=1 -dwarf=false -l'
RACE    := -race $(LEAN) $(PLAIN) $(NO_RACE:%=-gcflags=%=-race=false)

# The packages whose tests wait most come first, so that something else is built and tested meanwhile.
LONGEST := ./internal/bus ./store/postgres ./internal/app ./router ./adapters/telegram ./store/sqlite ./adapters/slack ./internal/mcp

# The compiler works a quarter less if it collects its garbage less often, and so do the tests. A process under the
# race detector sleeps for a second when it ends, so that other goroutines can still be caught; the tests look for
# goroutines that were left behind themselves. `make lint` has every check of `go vet`. The tests' files are in memory,
# if there is room (tools/testtmp); the programs that go builds, which are larger, stay on the disk (GOTMPDIR).
#
# The attacks drive whole gateways, whose packages the race detector sees in their own tests; with it
# they would take minutes. They run once, built so that a test can take a check away. The same holds for
# hostile and random Markdown, for hostile documents (each is read by a process with a time limit of its own), and for the answers
# of the API at every level: the tests before have shown the race detector
# a few of those texts and levels. Packages without concurrency (tools/sequential finds them) are tested without it too: it
# would find nothing there, and it makes their tests six times as slow.
# The budget counts allocations, which the race detector changes. Its log says which limits can be lowered.
# The tests without the race detector have the same build tags and flags (GOFLAGS) as the gateway that the kill tests build, so that
# the compiler makes each package for them once.
#
# The kill tests build the gateway themselves, so their cached results may be old, and their gateways' files are on the
# disk. They mostly wait, and what they check does not depend on how busy the machine is: the other tests without the race
# detector run beside them. Beside all others, they would make those in the browser too slow. The detector would see only the
# tests' own code, because the gateways are processes of their own.
NO_RACE_TAGS := -tags faultpoints,mutants
test: ## run every test under the race detector, installing what they need where that is possible
	@tools/testdeps
	@export CI=true GORACE="atexit_sleep_ms=0 $${GORACE:-}" GOGC=$${GOGC:-400} GOTMPDIR=$${GOTMPDIR:-$${TMPDIR:-/tmp}}; \
	files=$$(tools/testtmp); trap 'rm -rf "$$files"' EXIT; export TMPDIR="$$files"; \
	if [ -z "$${SLUICE_API_SPECS:-}" ] && [ -d '$(API_SPECS)' ]; then export SLUICE_API_SPECS='$(API_SPECS)'; fi; \
	check() { go test -vet=off -exec 'env -u GOTMPDIR' -timeout $(TESTTIMEOUT) "$$@"; }; \
	sequential=$$(tools/sequential); \
	failed=0; check $(RACE) -p 3 $(LONGEST) $$(go list ./... | grep -v -e '/internal/chaos$$' -e '/internal/attacks$$' -e '/internal/budget$$' | grep -v -x -F -e "$$sequential") || failed=1; \
	GOFLAGS="$$(go env GOFLAGS) $(LEAN) -ldflags=-s"; export GOFLAGS; \
	check $(NO_RACE_TAGS) -v ./internal/budget || failed=1; \
	TMPDIR=$$GOTMPDIR check $(NO_RACE_TAGS) -count 1 ./internal/chaos & chaos=$$!; \
	check $(NO_RACE_TAGS) ./internal/attacks & attacks=$$!; \
	check $(NO_RACE_TAGS) ./internal/markdown ./internal/document $$sequential || failed=1; \
	check $(NO_RACE_TAGS) -run '^(TestTheHiddenIsAsTheAbsent|TestCheck38.*)$$' ./internal/app || failed=1; \
	wait $$attacks || failed=1; wait $$chaos || failed=1; exit $$failed

lint: $(BIN)/golangci-lint $(BIN)/gofumpt ## check style, suspicious code, formatting, the module files, and that other systems compile
	$(BIN)/golangci-lint run
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs -r ls -d 2>/dev/null | xargs -r $(BIN)/gofumpt -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; fi
	go vet -tags faultpoints ./internal/faultpoint
	go vet -tags mutants,report ./policy ./internal/attacks
	go vet -tags pictures ./internal/app
	go mod tidy -diff
	go run ./internal/release -check -targets linux/armv7,darwin/arm64,windows/amd64

DIST         ?= $(CURDIR)/dist
RELEASEFLAGS ?=
release: $(BIN)/nfpm $(BIN)/image ## make the files of a release in dist/: archives, packages, images, lists of modules, checksums
	go run ./internal/release -out '$(DIST)' -nfpm $(BIN)/nfpm -image $(BIN)/image $(RELEASEFLAGS)

reproducible: $(BIN)/nfpm $(BIN)/image ## make two releases from two folders and compare them bit by bit (RELEASEFLAGS='-targets linux/amd64' for a part)
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; commit=$$(git rev-parse HEAD); \
	for copy in one two; do \
		git clone -q . "$$work/$$copy/sluice"; git -C "$$work/$$copy/sluice" checkout -q "$$commit"; \
		(cd "$$work/$$copy/sluice" && go run ./internal/release -out "$$work/$$copy/dist" -nfpm $(BIN)/nfpm -image $(BIN)/image $(RELEASEFLAGS)); \
		touch "$$work/$$copy/dist"; \
	done; \
	diff -r "$$work/one/dist" "$$work/two/dist" && cat "$$work/one/dist/SHA256SUMS" && echo "both releases are the same, bit by bit"

deploy-check: ## check deploy/: the unit's hardening, the chart against Kubernetes' schemas, the rules, the proxies, install.sh
	tools/deploycheck

install-check: ## install the release in dist/ in empty Debian systems, up to the first answer: .deb, .rpm, install.sh, image (needs root)
	tools/installcheck '$(DIST)'

compose-check: ## start the services of deploy/compose as processes with the image in dist/, up to the first answer (needs root)
	tools/composecheck '$(DIST)'

module: ## change the module path for go install: make module TO=github.com/somebody/sluice
	tools/module '$(TO)'

fmt: $(BIN)/gofumpt ## format the code
	git ls-files -co --exclude-standard '*.go' | xargs -r ls -d 2>/dev/null | xargs -r $(BIN)/gofumpt -w

bench: ## measure the gateway as people run it (BENCHFLAGS='-only http,alone' measures parts; -h lists them)
	go run ./internal/bench $(BENCHFLAGS)
	$(if $(findstring -only,$(BENCHFLAGS)),,go test ./router -run '^$$' -bench Exchanges -benchtime 3x)
	$(if $(findstring -only,$(BENCHFLAGS)),,go test ./internal/markdown -run '^$$' -bench HostileTexts -benchtime 1x)

budget: ## lower the limits on the cost of a message to the current cost; raise a limit only with WHY="the reason"
	CI=true go test -v -count 1 ./internal/budget -update -why '$(WHY)'

fuzz: ## run every fuzz target for FUZZTIME (10s)
	@grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed 's/_test.go:func /_test.go /' | \
	while read -r file target; do \
		echo "$$(dirname "$$file") $$target"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$(dirname "$$file")"; \
	done

chaos: ## kill the gateway at random moments and at every named step, and count lost and repeated messages
	go test -count 1 -timeout 30m -run TestAgainstTheSecondImplementation ./internal/cron -long
	go test -v -count 1 -timeout 60m ./internal/chaos -chaos $(CHAOSFLAGS)
	go test -v -count 1 -timeout 90m ./internal/chaos -run 'TestCampaign$$' -chaos -chaos.messages 100000 $(CHAOSFLAGS)
	for platform in "slack socket" "slack http" discord; do \
		go test -v -count 1 -timeout 60m ./internal/chaos -run 'TestCampaign$$' -chaos -chaos.messages 10000 -chaos.platform "$$platform" $(CHAOSFLAGS); \
	done

mutate: ## break the code in one place at a time and check that a test fails (MUTATEFLAGS: see go run ./internal/mutate -h)
	CI=true go run ./internal/mutate $(MUTATEFLAGS)

structure: ## show methods per type and interface and lines per package, with their limits
	@go run ./internal/structure

security-report: ## attack the gateway, and write docs/security-report.md
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	go test -count 1 -run 'Corpus|Ordinary|Cost|TwoRun' ./internal/attacks -report "$$dir"; \
	go test -count 1 -run NoCommandLeavesTheScope ./internal/agent -report "$$dir"; \
	go test -count 1 -tags mutants -run 'Mutants|FindLeaks' ./internal/attacks -report "$$dir"; \
	go test -count 1 -tags report -run WriteReport ./internal/attacks -report "$$dir"

pictures: ## make the pictures of the console in docs/console
	@mkdir -p docs/console
	CI=true SLUICE_SCREENSHOTS=$(CURDIR)/docs/console go test -tags pictures -count 1 -run '^TestConsolePicture' ./internal/app

vuln: $(BIN)/govulncheck ## look for known vulnerabilities in the dependencies
	@if ! timeout 20 curl -fsS -o /dev/null https://vuln.go.dev/index/db.json; then \
		echo "the vulnerability database (vuln.go.dev) cannot be reached: nothing was checked" >&2; exit 0; fi; \
	$(BIN)/govulncheck ./...

generate: ## regenerate the generated files
	go generate ./...

verify: ## fail if generated files are not up to date
	@before=$$(git diff | sha256sum); go generate ./...; \
	if [ "$$before" != "$$(git diff | sha256sum)" ]; then git diff --stat; echo "generated files were not up to date; they are now: commit them"; exit 1; fi

tidy: ## tidy the module files
	go mod tidy
	for dir in tools tools/release tools/image tools/deploy; do go -C $$dir mod tidy; done

clean: ## remove what was built
	rm -rf $(OUT) $(BIN) $(DIST)

# The tools' versions stand in tools/go.mod. They are built once; golangci-lint takes a few minutes.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
GOFUMPT       := mvdan.cc/gofumpt
GOVULNCHECK   := golang.org/x/vuln/cmd/govulncheck

$(BIN)/golangci-lint: PKG := $(GOLANGCI_LINT)
$(BIN)/gofumpt:       PKG := $(GOFUMPT)
$(BIN)/govulncheck:   PKG := $(GOVULNCHECK)

# The programs for releases and for checks of deploy/ have modules of their own.
$(BIN)/nfpm: tools/release/go.mod tools/release/go.sum
	@mkdir -p $(BIN)
	CGO_ENABLED=0 go -C tools/release build -o $@ github.com/goreleaser/nfpm/v2/cmd/nfpm
$(BIN)/image: $(wildcard tools/image/*)
	@mkdir -p $(BIN)
	CGO_ENABLED=0 go -C tools/image build -o $@ .
$(BIN)/helm: tools/deploy/go.mod tools/deploy/go.sum
	@mkdir -p $(BIN)
	CGO_ENABLED=0 go -C tools/deploy build -o $@ helm.sh/helm/v4/cmd/helm
$(BIN)/kubeconform: tools/deploy/go.mod tools/deploy/go.sum
	@mkdir -p $(BIN)
	CGO_ENABLED=0 go -C tools/deploy build -o $@ github.com/yannh/kubeconform/cmd/kubeconform
$(BIN)/%: tools/go.mod tools/go.sum
	@mkdir -p $(BIN)
	CGO_ENABLED=0 go -C tools build -o $@ $(PKG)
