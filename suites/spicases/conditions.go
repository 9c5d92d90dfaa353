package spicases

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func conditionCases() []harness.Case {
	var cases []harness.Case
	for _, g := range conditionGroups {
		cases = append(cases, locationCase("conditions/"+g.slug, g.title+".",
			g.requirement+" L4.all-or-nothing L4.condition-only L4.applied",
			func(t *harness.T) { conditionGroupCase(t, g) }, g.needs...))
	}
	return append(cases,
		locationCase("conditions/version-exact", "A Version condition takes no other text for the current version.",
			"L4.version L4.all-or-nothing", versionExact),
		locationCase("conditions/on-other-keys", "A condition gates mutations of other keys.",
			"L4.all-or-nothing L4.version L4.missing", conditionOnOtherKeys),
		locationCase("conditions/before-mutations", "Conditions see the store as it was before the batch's own mutations.",
			"L4.all-or-nothing", conditionsFirst),
		locationCase("conditions/silent", "A Conflict carries the store time alone and an applied check no version.",
			"L4.conflict-silent L3.store-now L4.condition-only", conflictSilent),
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

// conditionRow is one condition on a key with a past.
type conditionRow struct {
	name      string
	past      past
	condition func(k spi.Key, versions []spi.Version) spi.Condition
}

// conditionGroup are conditions that all hold, or all do not.
type conditionGroup struct {
	slug, title string
	requirement string
	needs       []harness.Need
	holds       bool
	expires     bool // the pasts end with the expiry of the value
	rows        []conditionRow
}

func missing(k spi.Key, _ []spi.Version) spi.Condition { return ifMissing(k) }

// newest expects the last version that the key was given, first the first one.
func newest(k spi.Key, v []spi.Version) spi.Condition {
	return ifVersion(k, v[len(v)-1])
}

func first(k spi.Key, v []spi.Version) spi.Condition {
	return ifVersion(k, v[0])
}

func madeUp(k spi.Key, _ []spi.Version) spi.Condition {
	return ifVersion(k, "1")
}

func bytesAre(value string) func(spi.Key, []spi.Version) spi.Condition {
	return func(k spi.Key, _ []spi.Version) spi.Condition {
		return ifValue(k, []byte(value))
	}
}

var valueConditions = []harness.Need{harness.Need(targets.CapValueCondition)}

var conditionGroups = []conditionGroup{
	// Missing(key) is true only if the key is absent, deleted or expired.
	{"missing-holds", "Missing holds for an absent and for a deleted key", "L4.missing", nil, true, false, []conditionRow{
		{"a key that never existed", absent, missing},
		{"a deleted key", deleted, missing},
	}},
	{"missing-expired", "Missing holds for an expired key", "L4.missing", nil, true, true, []conditionRow{
		{"an expired key", expiring, missing},
		{"an expired key with an older durable value", expiringAfterDurable, missing},
	}},
	{"missing-fails", "Missing does not hold for a live key", "L4.missing", nil, false, false, []conditionRow{
		{"a live key", live, missing},
		{"a live key with an empty value", liveEmpty, missing},
		{"a key before its retention has passed", leased, missing},
		{"an overwritten key", replaced, missing},
		{"a recreated key", recreated, missing},
	}},
	// Version(key, expected) is true only if the current version is the
	// expected one, and false for an absent, deleted or expired key.
	{"version-holds", "Version holds for the current version", "L4.version", nil, true, false, []conditionRow{
		{"the version of a key", live, newest},
		{"the version of an empty value", liveEmpty, newest},
		{"the version of a value with retention", leased, newest},
		{"the newest version of an overwritten key", replaced, newest},
		{"the newest version of a recreated key", recreated, newest},
	}},
	{"version-fails", "Version does not hold for a version that is not current", "L4.version", nil, false, false, []conditionRow{
		{"a version of a key that never existed", absent, madeUp},
		{"the deleted version", deleted, newest},
		{"the overwritten version", replaced, first},
		{"the version from before the recreation", recreated, first},
	}},
	{"version-expired", "Version does not hold for an expired version", "L4.version", nil, false, true, []conditionRow{
		{"the expired version", expiring, newest},
		{"a version that the expired one replaced", expiringAfterDurable, first},
	}},
	// Value(key, bytes), where it is offered, is true only while the live bytes
	// are the expected ones, whatever their version.
	{"value-holds", "Value holds for the live bytes, whatever their version", "L4.value", valueConditions, true, false,
		[]conditionRow{
			{"the live bytes", live, bytesAre("live")},
			{"the live bytes of a value with retention", leased, bytesAre("live")},
			{"the same bytes after recreation", recreated, bytesAre("live")},
			{"an empty value", liveEmpty, bytesAre("")},
		}},
	{"value-fails", "Value does not hold for other than the live bytes", "L4.value", valueConditions, false, false,
		[]conditionRow{
			{"other bytes", live, bytesAre("Live")},
			{"the start of the bytes", live, bytesAre("liv")},
			{"no bytes of a full value", live, bytesAre("")},
			{"more than the bytes", live, bytesAre("live\x00")},
			{"the overwritten bytes", replaced, bytesAre("old")},
			{"no bytes of a key that never existed", absent, bytesAre("")},
			{"no bytes of a deleted key", deleted, bytesAre("")},
			{"the deleted bytes", deleted, bytesAre("live")},
		}},
	{"value-expired", "Value does not hold for expired bytes", "L4.value", valueConditions, false, true, []conditionRow{
		{"the expired bytes", expiring, bytesAre("live")},
		{"no bytes of an expired key", expiring, bytesAre("")},
	}},
}

// attempts are what a condition gates in turn: each kind of mutation, and
// none, which is a check.
var attempts = []struct {
	name      string
	mutations func(spi.Key) []spi.Mutation
}{
	{"put", func(k spi.Key) []spi.Mutation { return []spi.Mutation{put(k, "new"), put(k+" beside", "new")} }},
	{"delete", func(k spi.Key) []spi.Mutation { return []spi.Mutation{put(k+" beside", "new"), del(k)} }},
	{"check", func(spi.Key) []spi.Mutation { return nil }},
}

// conditionGroupCase tries each condition before each attempt. If it holds, the
// mutations apply; if not, neither the key nor the one beside it changes.
func conditionGroupCase(t *harness.T, g conditionGroup) {
	l := t.Location()
	type trial struct {
		what    string
		key     spi.Key
		request spi.WriteRequest
	}
	var trials []trial
	for i, row := range g.rows {
		for _, a := range attempts {
			k := spi.Key(fmt.Sprintf("%s %d", a.name, i))
			condition := row.condition(k, row.past(l, k))
			trials = append(trials, trial{row.name, k, write(given(condition), a.mutations(k)...)})
		}
	}
	if g.expires {
		awaitExpiry(t, t.Now()+shortRetention+1)
	}
	for _, trial := range trials {
		keys := []spi.Key{trial.key, trial.key + " beside"}
		want := look(l, keys...)
		requirement, speaks := "L4.all-or-nothing", g.requirement
		if len(trial.request.Mutations) == 0 {
			speaks = "L4.condition-only"
		}
		result := l.Citing(speaks).MustWrite(trial.request)
		what := trial.what + ": " + harness.Describe(trial.request) + " → " + harness.Describe(result)
		applied, ok := result.(spi.Applied)
		if !t.Checkf(ok == g.holds, speaks, "%s", what) {
			continue
		}
		if ok {
			requirement = speaks
			t.Checkf(len(applied.PutVersions) == putsOf(trial.request), "L4.applied", "%s: expected one version for each Put",
				what)
			apply(want, trial.request, applied)
		}
		same(t, requirement, "after "+what, want, look(l, keys...))
	}
}

// apply changes the records as the applied write changed the store; its Puts
// have no retention.
func apply(r records, w spi.WriteRequest, applied spi.Applied) {
	versions := versionsOf(applied)
	for _, m := range w.Mutations {
		switch m := m.(type) {
		case spi.Put:
			r[m.Key] = spi.Value{Bytes: m.Bytes, Version: versions[m.Key]}
		case spi.Delete:
			delete(r, m.Key)
		}
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
	for _, other := range []string{s + " ", " " + s, "0" + s, s + "0", s + "\x00", s + ".0", "+" + s, s[:len(s)-1], s[1:],
		strings.ToUpper(s), strings.ToLower(s), "*", "0", "-1", "null", strings.Repeat("v", spi.MaxVersionBytes)} {
		if other == s || other == "" || len(other) > spi.MaxVersionBytes {
			continue
		}
		// Cutting may leave a part of a character, which is no version at all.
		if other = strings.ToValidUTF8(other, "?"); other == s {
			continue
		}
		request := write(given(ifVersion("k", spi.Version(other))), put("k", "new"))
		if _, ok := l.MustWrite(request).(spi.Conflict); !t.Checkf(ok, "L4.version",
			"%.60q was taken for the current version %.60q", other, s) {
			return
		}
	}
	same(t, "L4.all-or-nothing", "after the conflicts", want, look(l, "k"))
}

// altered is another version that is no longer than v, which may be as long as
// a version can be.
func altered(v spi.Version) spi.Version {
	last, n := utf8.DecodeLastRuneInString(string(v))
	if last == 'x' {
		return v[:len(v)-n] + "y"
	}
	return v[:len(v)-n] + "x"
}

// The conditions and the mutations of a batch need not be about the same keys.
func conditionOnOtherKeys(t *harness.T) {
	l := t.Location()
	want := seed(l, put("gate", "open"), put("target", "old"))
	open := ifVersion("gate", want["gate"].Version)
	closed := ifMissing("gate")

	l.MustConflict(write(given(closed), put("target", "new"), put("created", "new"), del("gate")))
	l.MustConflict(write(given(ifMissing("absent"), closed), put("target", "new")))
	l.MustConflict(write(given(open, ifVersion("target", altered(want["gate"].Version))),
		put("created", "new")))
	same(t, "L4.all-or-nothing", "after the conflicts", want, look(l, "gate", "target", "created", "absent"))

	a := l.MustApply(write(given(open, ifMissing("absent")), put("created", "new"), del("target")))
	delete(want, "target")
	want["created"] = spi.Value{Bytes: []byte("new"), Version: versionsOf(a)["created"]}
	same(t, "L4.all-or-nothing", "after both conditions held", want, look(l, "gate", "target", "created", "absent"))
}

// Every condition is checked before any mutation: none sees what the batch
// itself puts or deletes. A provider that goes key by key fails here.
func conditionsFirst(t *harness.T) {
	l := t.Location()
	want := seed(l, put("a", "old"), put("b", "old"))
	l.MustConflict(write(given(ifMissing("a")), del("a"), put("b", "new")))
	same(t, "L4.all-or-nothing", "after a Missing condition on a key that the batch deletes", want, look(l, "a", "b"))
	a := l.MustApply(write(given(
		ifVersion("b", want["b"].Version),
		ifVersion("a", want["a"].Version),
		ifMissing("c"),
	), put("c", "new"), put("a", "new"), del("b")))
	v := versionsOf(a)
	same(t, "L4.all-or-nothing", "after conditions on keys that the batch changes",
		records{"a": {Bytes: []byte("new"), Version: v["a"]}, "c": {Bytes: []byte("new"), Version: v["c"]}},
		look(l, "a", "b", "c"))
}

// Conflict carries StoreNow and nothing else; a check that holds applies
// without a version. Both tell the provider's clock.
func conflictSilent(t *harness.T) {
	l := t.Location()
	v := l.MustPut("k", []byte("value"), nil)
	for range 3 {
		bracketed(t, "Conflict", func() spi.Millis {
			c := l.MustConflict(write(given(ifMissing("k")), put("k", "new")))
			t.Checkf(c.StoreNow > 0, "L4.conflict-silent", "a Conflict came without the store time that it must carry")
			return c.StoreNow
		})
		bracketed(t, "Applied", func() spi.Millis {
			a := l.MustApply(write(given(ifVersion("k", v))))
			t.Equal("L4.condition-only", "the number of versions of a check", 0, len(a.PutVersions))
			return a.StoreNow
		})
		bracketed(t, "Applied", func() spi.Millis { return l.MustApply(write(nil, put("other", "value"))).StoreNow })
	}
}
