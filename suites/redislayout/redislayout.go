// Package redislayout holds the cases of the official Redis layout: which keys
// a provider uses, which bytes it writes there, and what it makes of bytes
// that another provider, or nobody who conforms, left there.
package redislayout

import (
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/kit"
)

// Cases returns all cases of the suite, the Location Store first.
func Cases() []harness.Case {
	return slices.Concat(
		keyCases(),
		recordCases(),
		memberCases(),
		numberCases(),
		foreignCases(),
		unreadableCases(),
		scopeCases(),
		tidyingCases(),
		strangeCases(),
		prefixCases(),
		legacyCases(),
		blobCases(),
		foreignBlobCases(),
		goldenCases(),
	)
}

var (
	locationCase   = kit.Cases("redislayout", location...)
	relocationCase = kit.Cases("redislayout", harness.NeedLayout, harness.NeedRelocation)
	bothCase       = kit.Cases("redislayout", harness.NeedLayout, harness.NeedLocation, harness.NeedRelocation)
)

// The words of requests; see suites/kit.
var (
	write, given         = kit.Write, kit.Given
	ifMissing, ifVersion = kit.IfMissing, kit.IfVersion
	put, del             = kit.Put, kit.Delete
)

var location = []harness.Need{harness.NeedLayout, harness.NeedLocation}

// hour outlives every case.
const hour = 3600_000

// refuses checks that an operation is an explicit store failure: a normal
// result would be a guess.
func refuses[R any](t *harness.T, requirement, what string) func(R, error) bool {
	return func(r R, err error) bool {
		if err == nil {
			t.Failf(requirement, "%s answered %s, expected an explicit store failure", what, harness.Describe(r))
			return false
		}
		return t.ErrorKind(requirement, what, err, spi.KindStoreFailure)
	}
}

// refusesRecord checks that a key whose record is unreadable fails explicitly
// on read and in each kind of condition.
func refusesRecord(t *harness.T, store *harness.Location, key spi.Key) {
	const requirement = "L9.unknown-tag"
	ctx := t.Context()
	refuses[spi.ReadResult](t, requirement, "reading it")(store.Read(ctx, key))
	conditions := map[string]spi.Condition{
		"a Missing condition on it": ifMissing(key),
		"a Version condition on it": ifVersion(key, "1"),
	}
	failed := true
	for what, condition := range conditions {
		failed = refuses[spi.WriteResult](t, requirement, what)(store.Write(ctx, gated(condition, "beside"))) && failed
	}
	failed = refuses[spi.WriteResult](t, requirement,
		"a Missing condition on it, behind a true one,")(
		store.Write(ctx, write(given(ifMissing("absent"), ifMissing(key)), put("beside", "v")))) && failed
	if !failed {
		return // what applied has put the key beside it rightly
	}
	if r, err := store.Read(ctx, "beside"); err == nil {
		_, missing := r.(spi.Missing)
		t.Checkf(missing, "L4.all-or-nothing", "of writes that all failed explicitly, at a condition on the unreadable "+
			"record, one has put its other key")
	}
}

// gated is a write of another key under one condition.
func gated(condition spi.Condition, other spi.Key) spi.WriteRequest {
	return write(given(condition), put(other, "v"))
}

// sorted orders items by key, since the contract does not order a scan.
func sorted(items []spi.Item) []spi.Item {
	slices.SortFunc(items, func(a, b spi.Item) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return items
}
