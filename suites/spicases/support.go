package spicases

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/kit"
)

var (
	locationCase   = kit.Cases("spi", harness.NeedLocation)
	relocationCase = kit.Cases("spi", harness.NeedRelocation)
)

// The words of requests; see suites/kit.
var (
	write, given                  = kit.Write, kit.Given
	ifMissing, ifVersion, ifValue = kit.IfMissing, kit.IfVersion, kit.IfValue
	put, putFor, del              = kit.Put, kit.PutFor, kit.Delete
)

// client is somebody who changes a store while an instance of the target looks
// on.
type client struct {
	slug, title string
	needs       []harness.Need
	open        func(t *harness.T, looking *harness.Location, s harness.Store) *harness.Location
}

var (
	sameInstance = client{"same-instance", "the same instance", nil,
		func(_ *harness.T, looking *harness.Location, _ harness.Store) *harness.Location { return looking }}
	anotherInstance = client{"other-instance", "another instance of the provider", nil,
		func(t *harness.T, _ *harness.Location, s harness.Store) *harness.Location {
			return t.Target().OpenLocation(s)
		}}
	theReference = client{"reference", "the reference provider", []harness.Need{harness.NeedLayout},
		func(t *harness.T, _ *harness.Location, s harness.Store) *harness.Location {
			return t.Reference().OpenLocation(s)
		}}
)

// otherInstance opens one more store of the target on the case's prefix.
func otherInstance(t *harness.T) *harness.Location { return t.Target().OpenLocation(harness.Store{}) }

// instances are n stores of the target on the case's prefix.
func instances(t *harness.T, n int) []*harness.Location {
	all := []*harness.Location{t.Location()}
	for len(all) < n {
		all = append(all, otherInstance(t))
	}
	return all
}

// numbered returns n keys: prefix0000, prefix0001, ...
func numbered(prefix string, n int) []spi.Key {
	keys := make([]spi.Key, n)
	for i := range keys {
		keys[i] = spi.Key(fmt.Sprintf("%s%04d", prefix, i))
	}
	return keys
}

// putAll puts one value under every key.
func putAll(keys []spi.Key, value string) []spi.Mutation {
	mutations := make([]spi.Mutation, len(keys))
	for i, k := range keys {
		mutations[i] = put(k, value)
	}
	return mutations
}

func allMissing(keys []spi.Key) []spi.Condition {
	conditions := make([]spi.Condition, len(keys))
	for i, k := range keys {
		conditions[i] = ifMissing(k)
	}
	return conditions
}

// records are the live records of a store as reads and scans must show them.
type records map[spi.Key]spi.Value

// seed puts the records in as few batches as the bounds allow and returns what
// must be there from now on.
func seed(l *harness.Location, puts ...spi.Put) records {
	stored := records{}
	for chunk := range chunks(puts) {
		var w spi.WriteRequest
		for _, p := range chunk {
			w.Mutations = append(w.Mutations, p)
		}
		applied := l.MustApply(w)
		versions := versionsOf(applied)
		for _, p := range chunk {
			v := spi.Value{Bytes: p.Bytes, Version: versions[p.Key]}
			if p.Retention != nil {
				v.ExpiresAt = applied.StoreNow + spi.Millis(*p.Retention)
			}
			stored[p.Key] = v
		}
	}
	return stored
}

// chunks splits puts into batches that every provider accepts.
func chunks(puts []spi.Put) func(func([]spi.Put) bool) {
	return func(yield func([]spi.Put) bool) {
		start, size := 0, 0
		for i, p := range puts {
			n := len(p.Key) + len(p.Bytes)
			if i > start && (i-start == spi.MaxBatchKeys || size+n > spi.MaxBatchBytes-spi.BatchBytesSlack) {
				if !yield(puts[start:i]) {
					return
				}
				start, size = i, 0
			}
			size += n
		}
		if start < len(puts) {
			yield(puts[start:])
		}
	}
}

// observed are the records as reads show them, where those are few: a scan is
// not held against what only an Applied said.
func observed(l *harness.Location, stored records) records {
	const few = 200
	if len(stored) > few {
		return stored
	}
	return look(l, slices.Collect(maps.Keys(stored))...)
}

func versionsOf(a spi.Applied) map[spi.Key]spi.Version {
	versions := make(map[spi.Key]spi.Version, len(a.PutVersions))
	for _, p := range a.PutVersions {
		versions[p.Key] = p.Version
	}
	return versions
}

// look reads the keys and returns the live ones.
func look(l *harness.Location, keys ...spi.Key) records {
	found := records{}
	for _, k := range keys {
		if f, ok := l.MustRead(k).(spi.Found); ok {
			found[k] = f.Value
		}
	}
	return found
}

// same records how the records differ from the expected ones.
func same(t *harness.T, requirement, what string, want, got records) bool {
	var wrong []string
	for k, w := range want {
		g, ok := got[k]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%.80q is missing", k))
		} else if difference := harness.Difference(w, g); difference != "" {
			wrong = append(wrong, fmt.Sprintf("%.80q has %s", k, difference))
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			wrong = append(wrong, fmt.Sprintf("%.80q should not be there", k))
		}
	}
	slices.Sort(wrong)
	return none(t, requirement, what, wrong)
}

// none records the first of the things that are wrong, if there are any.
func none(t *harness.T, requirement, what string, wrong []string) bool {
	const shown = 4
	if len(wrong) > shown {
		wrong = append(wrong[:shown:shown], fmt.Sprintf("%d more", len(wrong)-shown))
	}
	return t.Checkf(len(wrong) == 0, requirement, "%s: %s", what, strings.Join(wrong, "; "))
}

// awaitExpiry waits until the provider's clock has reached the time.
func awaitExpiry(t *harness.T, expiresAt spi.Millis) {
	for t.Now() < expiresAt {
		t.Pause(5 * time.Millisecond)
	}
}

// bracketed runs an operation and checks that the time it answers lies between
// two readings of the provider's clock, give or take the rounding of one
// millisecond.
func bracketed(t *harness.T, what string, operation func() spi.Millis) {
	before := t.Now()
	got := operation()
	t.Between("L3.store-now", "StoreNow of "+what, before-1, got, t.Now()+1)
}

// during repeats each of the background functions, at least once, while main
// runs.
func during(t *harness.T, main func(), background ...func()) {
	var over atomic.Bool
	t.Concurrently(1+len(background), func(i int) {
		if i == 0 {
			defer over.Store(true)
			main()
			return
		}
		for again := true; again; again = !over.Load() {
			background[i-1]()
		}
	})
}

// refused checks that the write is an argument error.
func refused(t *harness.T, requirement, what string, l *harness.Location, request spi.WriteRequest) {
	_, err := l.Write(t.Context(), request)
	t.ErrorKind(requirement, what, err, spi.KindArgument)
}
