// Package countercases holds the cases of the framework's counters: the framework's
// side of issuing runs over the target's own Location Store, so that what goes
// wrong is the store's.
package countercases

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/counter"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/kit"
)

// Cases returns all cases of the suite.
func Cases() []harness.Case {
	return slices.Concat(issueCases(), gateCases(), exhaustedCases(), corruptCases(), contentionCases(), keyCases())
}

var locationCase = kit.Cases("counter", harness.NeedLocation)

// The words of requests; see suites/kit.
var (
	write, given         = kit.Write, kit.Given
	ifMissing, ifVersion = kit.IfMissing, kit.IfVersion
	put                  = kit.Put
)

// The highest stored value of a counter and the highest issued one, as rows.
const (
	maxStored = "9223372036854775807"
	maxIssued = "9223372036854775806"
)

func counters() []spi.Key { return []spi.Key{counter.Owner, counter.Object, counter.AuthorityOwner} }

// issuer issues over one instance of a provider.
type issuer struct {
	t    *harness.T
	name string // "the target" or "the reference"
	by   *harness.Provider
	spi.LocationStore
}

// targets opens an instance of the target. What it stores is checked through
// t.Location(), an instance that does not issue.
func targets(t *harness.T) issuer {
	return issuer{t, "the target", t.Target(), t.Target().OpenLocation(harness.Store{})}
}

func references(t *harness.T) issuer {
	return issuer{t, "the reference", t.Reference(), t.Reference().OpenLocation(harness.Store{})}
}

func (i issuer) issue(key spi.Key, n int64, gate counter.Gate) (counter.Block, error) {
	return counter.Issue(i.t.Context(), i, key, n, gate)
}

// must issues n values that must be first and those after it.
func (i issuer) must(requirement string, key spi.Key, n, first int64, gate counter.Gate) {
	b, err := i.issue(key, n, gate)
	if err != nil {
		i.fail(requirement, err, "issuing %d of %q", n, key)
	}
	if want := (counter.Block{First: first, Last: first + n - 1}); b != want {
		i.t.Fatalf(requirement, "%s issued %d to %d of %q, expected %d to %d", i.name, b.First, b.Last, key, want.First,
			want.Last)
	}
}

// fail ends the case because issuing failed.
func (i issuer) fail(requirement string, err error, format string, args ...any) {
	what := i.name + " failed at " + fmt.Sprintf(format, args...)
	if errors.Is(err, counter.ErrGate) {
		i.by.Fatalf(requirement, nil, "%s: a write conflicts although each of its conditions holds", what)
	}
	i.by.Fatalf(requirement, err, "%s", what)
}

// exhausted checks that issuing is refused since the counter stores the row.
func (i issuer) exhausted(key spi.Key, n int64, row string, gate counter.Gate) {
	_, err := i.issue(key, n, gate)
	var e *counter.GenerationExhausted
	if !errors.As(err, &e) {
		i.t.Failf("L8.exhausted", "issuing %d of %q, which stores %s, answered %v, expected GenerationExhausted", n, key, row,
			err)
		return
	}
	i.t.Checkf(strconv.FormatInt(e.Stored, 10) == row, "L8.exhausted", "the counter %q stores %s but was read as %d", key, row,
		e.Stored)
}

// find is the row of a key, which must be there.
func (i issuer) find(requirement string, key spi.Key) spi.Value {
	r, err := i.Read(i.t.Context(), key)
	found, ok := r.(spi.Found)
	switch {
	case err != nil:
		i.fail(requirement, err, "reading %q", key)
	case !ok:
		i.t.Fatalf(requirement, "%s answered %s to reading %q, expected found", i.name, harness.Describe(r), key)
	}
	return found.Value
}

// stores checks a counter's row and returns it.
func stores(t *harness.T, requirement string, key spi.Key, row string) spi.Value {
	v := t.Location().MustFind(key).Value
	t.EqualBytes(requirement, "the row of "+string(key), []byte(row), v.Bytes)
	t.Checkf(v.ExpiresAt == spi.NoExpiry, requirement, "the row of %q expires at %d, expected never", key, v.ExpiresAt)
	return v
}

// unchanged checks that a row is the very one that it was.
func unchanged(t *harness.T, requirement string, key spi.Key, before spi.Value) {
	after := t.Location().MustFind(key).Value
	t.EqualBytes(requirement, "the row of "+string(key)+", which must not change,", before.Bytes, after.Bytes)
	t.Checkf(after.Version == before.Version, requirement, "the row of %q has the new version %q", key, after.Version)
}

// plant puts a row without any condition and returns it as it is stored.
func plant(t *harness.T, key spi.Key, row string) spi.Value {
	return spi.Value{Bytes: []byte(row), Version: t.Location().MustPut(key, []byte(row), nil)}
}
