# make ci is what the continuous integration runs: everything, on a fresh clone.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X main.version=$(VERSION)
FUZZTIME ?= 10s
# The SQLite driver works with exactly this version of its C library.
LIBC := v1.80.1

say = @printf '%(%H:%M:%S)T make: %s\n' -1 '$@'

.PHONY: build test race lint pins modules interop proxy bench bench-quick bench-smoke fuzz-smoke ci clean

# The tags leave out the tracing pages of gRPC, and calling methods by names that are
# known at run time only, for which the linker would have to keep the methods of all types.
build: ## bin/skillyard, static and stripped
	$(say)
	CGO_ENABLED=0 go build -tags grpcnotrace,validator_novalidatefn -trimpath -ldflags '$(LDFLAGS)' -o bin/skillyard ./cmd/skillyard

test: ## the Go tests, quickly
	$(say)
	go test ./...

race: ## the Go tests under the race detector
	$(say)
	go test -race ./...

lint: ## formatting and vet
	$(say)
	@files=$$(git ls-files '*.go' | xargs gofmt -l); \
	  if [[ -n $$files ]]; then echo "not formatted:"; echo "$$files"; exit 1; fi
	go vet ./...

pins: ## the modules are those of go.sum, complete, and of the versions that fit
	$(say)
	go mod verify
	go mod tidy -diff
	@got=$$(go list -m -f '{{.Version}}' modernc.org/libc); \
	  if [[ $$got != $(LIBC) ]]; then echo "modernc.org/libc is $$got, want $(LIBC)"; exit 1; fi

modules: ## the programs with a go.mod of their own
	$(say)
	for dir in interop/go bench; do (cd $$dir && go mod verify && go vet ./... && go build -o /dev/null ./...); done

interop: ## real clients against the running server
	$(say)
	interop/run.sh

proxy: ## the server behind nginx and Caddy, good ones and ones with faults
	$(say)
	interop/proxy.sh
	interop/doctor.sh

bench: ## the benchmark, a few minutes; fails when a goal is missed
	$(say)
	cd bench && go run .

bench-quick: ## one short round of it; the numbers are rough
	$(say)
	cd bench && go run . -rounds 1 -slice 2s -warm 500ms -starts 3 -goals show

bench-smoke: ## that the benchmark works, not how fast anything is
	$(say)
	cd bench && go run . -rounds 1 -slice 300ms -warm 200ms -conns 1,32 -open 100 -idle 20,100 -fanout 50 -chunks 50,200 \
	  -hooks 20 -db 5 -starts 2 -goals none

fuzz-smoke: ## each fuzz test for FUZZTIME
	$(say)
	@go list ./... | while read -r pkg; do \
	  for fuzz in $$(go test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
	    echo "$$pkg $$fuzz"; go test -run '^$$' -fuzz "^$$fuzz\$$" -fuzztime $(FUZZTIME) "$$pkg"; \
	  done; \
	done

ci: lint pins build race modules interop proxy bench-smoke
	$(say)

clean:
	rm -rf bin dist bench/results
