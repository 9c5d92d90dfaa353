package spi

import (
	"fmt"
	"strings"

	"github.com/zlink-systems/zlink-conformance/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/target"
)

func conditionCases() []harness.Case {
	var cases []harness.Case
	for _, row := range conditionRows {
		var needs []harness.Need
		if row.requirement == "L4.value" {
			needs = append(needs, harness.Need(target.CapValueCondition))
		}
		cases = append(cases, locationCase("conditions/"+row.slug, row.title,
			row.requirement+" L4.all-or-nothing L4.condition-only", func(t *harness.T) { conditionCase(t, row) }, needs...))
	}
	return append(cases,
		locationCase("conditions/version-exact", "A Version condition takes no other text for the current version", "L4.version", versionExact),
		locationCase("conditions/on-other-keys", "A condition gates mutations of other keys", "L4.all-or-nothing L4.version L4.missing", conditionOnOtherKeys),
		locationCase("conditions/before-mutations", "Conditions see the store as it was before the batch's own mutations", "L4.all-or-nothing", conditionsFirst),
		locationCase("conditions/silent", "A Conflict carries the store time alone and an applied check no version", "L4.conflict-silent L3.store-now L4.condition-only", conflictSilent),
	)
}

// past is what a key went through before a condition looks at it. It leaves
// the versions that the key was given, oldest first.
type past func(l *harness.Location, k spi.Key) []spi.Version

// shortRetention is long enough to see the value and short enough to wait for.
const shortRetention = 60

func absent(*harness.Location, spi.Key) []spi.Version { return nil }

func live(l *harness.Location, k spi.Key) []spi.Version {
	return []spi.Version{l.MustPut(k, []byte("live"), nil)}
}

func liveEmpty(l *harness.Location, k spi.Key) []spi.Version {
	return []spi.Version{l.MustPut(k, nil, nil)}
}

func leased(l *harness.Location, k spi.Key) []spi.Version {
	return []spi.Version{l.MustPut(k, []byte("live"), spi.For(3_600_000))}
}

func replaced(l *harness.Location, k spi.Key) []spi.Version {
	return []spi.Version{l.MustPut(k, []byte("old"), nil), l.MustPut(k, []byte("live"), nil)}
}

func deleted(l *harness.Location, k spi.Key) []spi.Version {
	versions := live(l, k)
	l.MustDelete(k)
	return versions
}

func recreated(l *harness.Location, k spi.Key) []spi.Version {
	return append(deleted(l, k), l.MustPut(k, []byte("live"), nil))
}

func expiring(l *harness.Location, k spi.Key) []spi.Version {
	return []spi.Version{l.MustPut(k, []byte("live"), spi.For(shortRetention))}
}

func expiringAfterDurable(l *harness.Location, k spi.Key) []spi.Version {
	return append(live(l, k), expiring(l, k)...)
}

// conditionRow is one condition on a key with a past: it holds or it does not.
type conditionRow struct {
	slug, title string
	requirement string
	past        past
	expires     bool // the past ends with the expiry of the value
	condition   func(k spi.Key, versions []spi.Version) spi.Condition
	holds       bool
}

func missing(k spi.Key, _ []spi.Version) spi.Condition { return spi.MissingCondition{Key: k} }

// newest expects the last version that the key was given, first the first one.
func newest(k spi.Key, v []spi.Version) spi.Condition {
	return spi.VersionCondition{Key: k, Expected: v[len(v)-1]}
}

func first(k spi.Key, v []spi.Version) spi.Condition {
	return spi.VersionCondition{Key: k, Expected: v[0]}
}

func madeUp(k spi.Key, _ []spi.Version) spi.Condition {
	return spi.VersionCondition{Key: k, Expected: "1"}
}

func bytesAre(value string) func(spi.Key, []spi.Version) spi.Condition {
	return func(k spi.Key, _ []spi.Version) spi.Condition {
		return spi.ValueCondition{Key: k, Expected: []byte(value)}
	}
}

var conditionRows = []conditionRow{
	// Missing(key) is true only if the key is absent, deleted or expired.
	{"missing-absent", "Missing holds for a key that never existed", "L4.missing", absent, false, missing, true},
	{"missing-deleted", "Missing holds for a deleted key", "L4.missing", deleted, false, missing, true},
	{"missing-expired", "Missing holds for an expired key", "L4.missing", expiring, true, missing, true},
	{"missing-expired-history", "Missing holds for an expired key that had a durable value before", "L4.missing", expiringAfterDurable, true, missing, true},
	{"missing-live", "Missing does not hold for a live key", "L4.missing", live, false, missing, false},
	{"missing-empty", "Missing does not hold for a key with an empty value", "L4.missing", liveEmpty, false, missing, false},
	{"missing-leased", "Missing does not hold before the retention has passed", "L4.missing", leased, false, missing, false},
	{"missing-recreated", "Missing does not hold for a recreated key", "L4.missing", recreated, false, missing, false},
	// Version(key, expected) is true only if the current version is the
	// expected one, and false for an absent, deleted or expired key.
	{"version-current", "Version holds for the current version", "L4.version", live, false, newest, true},
	{"version-current-leased", "Version holds for the current version of a value with retention", "L4.version", leased, false, newest, true},
	{"version-current-replaced", "Version holds for the current version after an overwrite", "L4.version", replaced, false, newest, true},
	{"version-current-recreated", "Version holds for the current version after a recreation", "L4.version", recreated, false, newest, true},
	{"version-replaced", "Version does not hold for an overwritten version", "L4.version", replaced, false, first, false},
	{"version-recreated", "Version does not hold for the version from before the recreation", "L4.version", recreated, false, first, false},
	{"version-deleted", "Version does not hold for the version that was deleted", "L4.version", deleted, false, newest, false},
	{"version-expired", "Version does not hold for the version that expired", "L4.version", expiring, true, newest, false},
	{"version-before-expired", "Version does not hold for a version that an expired one replaced", "L4.version", expiringAfterDurable, true, first, false},
	{"version-absent", "Version does not hold for a key that never existed", "L4.version", absent, false, madeUp, false},
	// Value(key, bytes), where it is offered, is true only while the live bytes
	// are the expected ones, whatever their version.
	{"value-same", "Value holds for the live bytes", "L4.value", live, false, bytesAre("live"), true},
	{"value-same-again", "Value holds for the live bytes under a later version", "L4.value", recreated, false, bytesAre("live"), true},
	{"value-empty", "Value holds for live bytes that are empty", "L4.value", liveEmpty, false, bytesAre(""), true},
	{"value-other", "Value does not hold for other bytes", "L4.value", live, false, bytesAre("Live"), false},
	{"value-start", "Value does not hold for the start of the bytes", "L4.value", live, false, bytesAre("liv"), false},
	{"value-longer", "Value does not hold for more than the bytes", "L4.value", live, false, bytesAre("live\x00"), false},
	{"value-replaced", "Value does not hold for overwritten bytes", "L4.value", replaced, false, bytesAre("old"), false},
	{"value-absent", "Value does not hold for a key that never existed, not even for empty bytes", "L4.value", absent, false, bytesAre(""), false},
	{"value-deleted", "Value does not hold for a deleted key, not even for empty bytes", "L4.value", deleted, false, bytesAre(""), false},
	{"value-deleted-bytes", "Value does not hold for the bytes that were deleted", "L4.value", deleted, false, bytesAre("live"), false},
	{"value-expired", "Value does not hold for the bytes that expired", "L4.value", expiring, true, bytesAre("live"), false},
}

// conditionCase tries the condition of the row before each kind of mutation,
// and before none. If it holds, the mutations apply; if not, neither the key
// nor the one beside it changes.
func conditionCase(t *harness.T, row conditionRow) {
	l := t.Location()
	attempts := []struct {
		name     string
		mutation func(spi.Key) []spi.Mutation
		value    string // of the key afterwards, "" if absent or untouched
		changes  bool
	}{
		{"put", func(k spi.Key) []spi.Mutation { return []spi.Mutation{put(k, "new")} }, "new", true},
		{"delete", func(k spi.Key) []spi.Mutation { return []spi.Mutation{spi.Delete{Key: k}} }, "", true},
		{"check", func(spi.Key) []spi.Mutation { return nil }, "", false},
	}
	versions := make([][]spi.Version, len(attempts))
	for i, a := range attempts {
		versions[i] = row.past(l, spi.Key(a.name))
	}
	if row.expires {
		awaitExpiry(t, t.Now()+shortRetention+1)
	}
	for i, a := range attempts {
		k, beside := spi.Key(a.name), spi.Key("beside "+a.name)
		want := look(l, k)
		request := write(given(row.condition(k, versions[i])), a.mutation(k)...)
		if a.changes {
			request.Mutations = append(request.Mutations, put(beside, "new"))
		}
		result := l.MustWrite(request)
		applied, ok := result.(spi.Applied)
		if !t.Checkf(ok == row.holds, row.requirement, "%s answered %s", harness.Describe(request), harness.Describe(result)) {
			continue
		}
		if ok {
			got := versionsOf(applied)
			if a.changes {
				delete(want, k)
				want[beside] = spi.Value{Bytes: []byte("new"), Version: got[beside]}
			}
			if a.value != "" {
				want[k] = spi.Value{Bytes: []byte(a.value), Version: got[k]}
			}
			t.Checkf(len(applied.PutVersions) == len(got) && len(got) == putsOf(request), "L4.applied",
				"%s answered %s, expected one version for each Put", harness.Describe(request), harness.Describe(result))
		}
		requirement := row.requirement
		if !ok {
			requirement = "L4.all-or-nothing"
		}
		same(t, requirement, fmt.Sprintf("after %s answered %s", harness.Describe(request), harness.Describe(result)), want, look(l, k, beside))
	}
}

func putsOf(w spi.WriteRequest) int {
	n := 0
	for _, m := range w.Mutations {
		if _, ok := m.(spi.Put); ok {
			n++
		}
	}
	return n
}

// Version compares exactly: no number, prefix, padding or case is read into it.
func versionExact(t *harness.T) {
	l := t.Location()
	v := l.MustPut("k", []byte("live"), nil)
	want := look(l, "k")
	s := string(v)
	for _, other := range []string{s + " ", " " + s, "0" + s, s + "0", s + "\x00", s + ".0", "+" + s, s[:len(s)-1], s[1:], strings.ToUpper(s), strings.ToLower(s), "*", "0", "-1", "null", strings.Repeat("v", spi.MaxVersionBytes)} {
		if other == s || other == "" || len(other) > spi.MaxVersionBytes {
			continue
		}
		// Cutting may leave a part of a character, which is no version at all.
		if other = strings.ToValidUTF8(other, "?"); other == s {
			continue
		}
		request := write(given(spi.VersionCondition{Key: "k", Expected: spi.Version(other)}), put("k", "new"))
		if _, ok := l.MustWrite(request).(spi.Conflict); !t.Checkf(ok, "L4.version", "%.60q was taken for the current version %.60q", other, s) {
			return
		}
	}
	same(t, "L4.all-or-nothing", "after the conflicts", want, look(l, "k"))
}

// The conditions and the mutations of a batch need not be about the same keys.
func conditionOnOtherKeys(t *harness.T) {
	l := t.Location()
	want := seed(l, put("gate", "open"), put("target", "old"))
	open := spi.VersionCondition{Key: "gate", Expected: want["gate"].Version}
	closed := spi.MissingCondition{Key: "gate"}

	l.MustConflict(write(given(closed), put("target", "new"), put("created", "new"), spi.Delete{Key: "gate"}))
	l.MustConflict(write(given(spi.MissingCondition{Key: "absent"}, closed), put("target", "new")))
	l.MustConflict(write(given(open, spi.VersionCondition{Key: "target", Expected: want["gate"].Version + "x"}), put("created", "new")))
	same(t, "L4.all-or-nothing", "after the conflicts", want, look(l, "gate", "target", "created", "absent"))

	a := l.MustApply(write(given(open, spi.MissingCondition{Key: "absent"}), put("created", "new"), spi.Delete{Key: "target"}))
	delete(want, "target")
	want["created"] = spi.Value{Bytes: []byte("new"), Version: versionsOf(a)["created"]}
	same(t, "L4.all-or-nothing", "after both conditions held", want, look(l, "gate", "target", "created", "absent"))
}

// Every condition is checked before any mutation: none sees what the batch
// itself puts or deletes. A provider that goes key by key fails here.
func conditionsFirst(t *harness.T) {
	l := t.Location()
	want := seed(l, put("a", "old"), put("b", "old"))
	l.MustConflict(write(given(spi.MissingCondition{Key: "a"}), spi.Delete{Key: "a"}, put("b", "new")))
	same(t, "L4.all-or-nothing", "after a Missing condition on a key that the batch deletes", want, look(l, "a", "b"))
	a := l.MustApply(write(given(
		spi.VersionCondition{Key: "b", Expected: want["b"].Version},
		spi.VersionCondition{Key: "a", Expected: want["a"].Version},
		spi.MissingCondition{Key: "c"},
	), put("c", "new"), put("a", "new"), spi.Delete{Key: "b"}))
	v := versionsOf(a)
	same(t, "L4.all-or-nothing", "after conditions on keys that the batch changes",
		records{"a": {Bytes: []byte("new"), Version: v["a"]}, "c": {Bytes: []byte("new"), Version: v["c"]}}, look(l, "a", "b", "c"))
}

// Conflict carries StoreNow and nothing else; a check that holds applies
// without a version. Both tell the provider's clock.
func conflictSilent(t *harness.T) {
	l := t.Location()
	v := l.MustPut("k", []byte("value"), nil)
	for range 3 {
		bracketed(t, "Conflict", func() spi.Millis {
			return l.MustConflict(write(given(spi.MissingCondition{Key: "k"}), put("k", "new"))).StoreNow
		})
		bracketed(t, "Applied", func() spi.Millis {
			a := l.MustApply(write(given(spi.VersionCondition{Key: "k", Expected: v})))
			t.Equal("L4.condition-only", "the number of versions of a check", 0, len(a.PutVersions))
			return a.StoreNow
		})
		bracketed(t, "Applied", func() spi.Millis { return l.MustApply(write(nil, put("other", "value"))).StoreNow })
	}
}
