# The two commands of the README are `make demo` and `make test`.
GO ?= go
STATICCHECK ?= $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
BIN := bin/zlink-conformance

# The last line of coverage, or what is missing.
define covered
@mkdir -p out
$(BIN) coverage $(1) >out/coverage.txt || { grep -v '  ' out/coverage.txt; exit 1; }
@tail -n 1 out/coverage.txt
endef

.PHONY: demo test build lint unit conformance selftest fuzz bench clean

demo: build ## the main job on a fresh machine: judge the Go reference
	sh scripts/setup.sh redis
	$(BIN) run

test: ## everything that CI checks
	sh scripts/setup.sh test
	$(MAKE) lint unit conformance

build:
	$(GO) build -o $(BIN) ./cmd/zlink-conformance

lint:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not gofmt-ed: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	$(STATICCHECK) ./...
	$(GO) test ./internal/houserules -run TestWidth

unit:
	$(GO) test -race ./...
	sh scripts/fuzz.sh 2s

conformance: build ## the judge judged: the contract covered, the reference through every path, the fixture, the mutants
	$(call covered,)
	$(BIN) fixtures generate --check
	$(BIN) fixtures verify
	sh scripts/conformance.sh $(BIN)
	$(MAKE) selftest

selftest: build ## providers that are wrong on purpose: each must be caught by a case, each case must catch one
	@mkdir -p out
	$(BIN) selftest --redis local --json out/selftest.json
	$(call covered,--matrix out/selftest.json)

fuzz: ## each fuzz target for FUZZTIME (default 2m)
	sh scripts/fuzz.sh $(or $(FUZZTIME),2m)

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./reference/... ./internal/redisenv

clean:
	rm -rf bin out
