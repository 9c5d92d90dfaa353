package spicases

import (
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func mutationCases() []harness.Case {
	var cases []harness.Case
	for _, g := range mutationGroups {
		cases = append(cases, locationCase("mutations/"+g.slug, g.title+".", g.requirement+" L4.applied L4.missing L4.version",
			func(t *harness.T) { mutationGroupCase(t, g) }))
	}
	return append(cases,
		locationCase("mutations/applied", "Applied holds one version for each Put and none for a Delete.", "L4.applied",
			appliedVersions),
		locationCase("mutations/one-time", "All Puts of a batch expire from one store time.", "L4.applied L3.expiry-clock",
			appliedOneTime),
	)
}

// mutationRow is one mutation of a key with a past.
type mutationRow struct {
	name     string
	past     past
	mutation func(spi.Key) spi.Mutation
}

type mutationGroup struct {
	slug, title string
	requirement string
	expires     bool       // the pasts end with the expiry of the value
	want        *spi.Value // nil: absent afterwards; the version is the applied one, ExpiresAt is relative to the commit
	rows        []mutationRow
}

func putNew(k spi.Key) spi.Mutation    { return put(k, "new") }
func putLeased(k spi.Key) spi.Mutation { return putFor(k, "new", 3_600_000) }
func remove(k spi.Key) spi.Mutation    { return del(k) }

var (
	newValue  = &spi.Value{Bytes: []byte("new")}
	newLeased = &spi.Value{Bytes: []byte("new"), ExpiresAt: 3_600_000}
)

var mutationGroups = []mutationGroup{
	// Put stores its bytes, replaces what was there, and issues a new version.
	{"put", "Put creates a key or replaces its value, and makes it durable", "L4.put", false, newValue, []mutationRow{
		{"a key that never existed", absent, putNew},
		{"a live key", live, putNew},
		{"a key that holds the same bytes", func(l *harness.Location, k spi.Key) []spi.Version {
			return []spi.Version{l.MustPut(k, newValue.Bytes, nil)}
		}, putNew},
		{"a key with an empty value", liveEmpty, putNew},
		{"a key with a retention", leased, putNew},
		{"a deleted key", deleted, putNew},
	}},
	{"put-leased", "Put with a retention creates a key or replaces its value, and makes it expire", "L4.put", false, newLeased,
		[]mutationRow{
			{"a key that never existed", absent, putLeased},
			{"a durable key", live, putLeased},
			{"a key with the same retention", leased, putLeased},
			{"a deleted key", deleted, putLeased},
		}},
	{"put-expired", "Put recreates an expired key", "L4.put", true, newValue, []mutationRow{
		{"an expired key", expiring, putNew},
		{"an expired key with an older durable value", expiringAfterDurable, putNew},
	}},
	// Delete removes the key; deleting an absent one applies.
	{"delete", "Delete removes a key and brings no older value back", "L4.delete", false, nil, []mutationRow{
		{"a live key", live, remove},
		{"a key with a retention", leased, remove},
		{"an overwritten key", replaced, remove},
		{"a recreated key", recreated, remove},
	}},
	{"delete-absent", "Delete of an absent or deleted key applies", "L4.delete", false, nil, []mutationRow{
		{"a key that never existed", absent, remove},
		{"a deleted key", deleted, remove},
	}},
	{"delete-expired", "Delete of an expired key applies and brings no older value back", "L4.delete", true, nil, []mutationRow{
		{"an expired key", expiring, remove},
		{"an expired key with an older durable value", expiringAfterDurable, remove},
	}},
}

func mutationGroupCase(t *harness.T, g mutationGroup) {
	l := t.Location()
	versions := make([][]spi.Version, len(g.rows))
	keys := numbered("k", len(g.rows))
	for i, row := range g.rows {
		versions[i] = row.past(l, keys[i])
	}
	if g.expires {
		awaitExpiry(t, t.Now()+shortRetention+1)
	}
	for i, row := range g.rows {
		mutationCase(t, l, g, row, keys[i], versions[i])
	}
}

func mutationCase(t *harness.T, l *harness.Location, g mutationGroup, row mutationRow, k spi.Key, versions []spi.Version) {
	a := l.MustApply(write(nil, row.mutation(k)))
	want := records{}
	if g.want != nil {
		v := *g.want
		v.Version = versionsOf(a)[k]
		if v.ExpiresAt != spi.NoExpiry {
			v.ExpiresAt += a.StoreNow
		}
		want[k] = v
		for _, old := range versions {
			t.Checkf(v.Version != old, "L3.version-fresh", "%s: the Put was given the version %.80q that the key had before",
				row.name, old)
		}
	}
	t.Equal("L4.applied", row.name+": the number of versions", len(want), len(a.PutVersions))
	// A read, a scan and conditions say the same.
	same(t, g.requirement, row.name+": in a read", want, look(l, k))
	same(t, g.requirement, row.name+": in a scan", want, scanned(t, l, string(k), 10))
	if g.want != nil {
		l.MustConflict(write(given(ifMissing(k))))
		l.MustApply(write(given(ifVersion(k, want[k].Version))))
		return
	}
	l.MustApply(write(given(ifMissing(k))))
	for _, old := range versions {
		l.MustConflict(write(given(ifVersion(k, old))))
	}
}

// Applied returns each Put's version: exactly one for each, none for a Delete.
func appliedVersions(t *harness.T) {
	l := t.Location()
	keys := numbered("k", 60)
	seed(l, put(keys[1], "old"), put(keys[2], "old"))
	request := write(given(ifMissing("checked")))
	for i, k := range keys {
		if i%3 == 2 {
			request.Mutations = append(request.Mutations, del(k))
		} else {
			request.Mutations = append(request.Mutations, put(k, fmt.Sprint(i)))
		}
	}
	a := l.MustApply(request)
	versions := versionsOf(a)
	t.Equal("L4.applied", "the number of versions", 40, len(a.PutVersions))
	want := records{}
	for i, k := range keys {
		if i%3 != 2 {
			want[k] = spi.Value{Bytes: []byte(fmt.Sprint(i)), Version: versions[k]}
		}
	}
	same(t, "L4.applied", "after the batch", want, look(l, append(keys, "checked")...))

	a = l.MustDelete(keys[0], keys[1], "absent")
	t.Equal("L4.applied", "the number of versions of Deletes alone", 0, len(a.PutVersions))
}

// One StoreNow is observed at commit: equal retentions end at the same time,
// however long the batch took.
func appliedOneTime(t *harness.T) {
	l := t.Location()
	var puts []spi.Put
	for _, k := range numbered("k", 1000) {
		puts = append(puts, putFor(k, "value", 3_600_000))
	}
	want := seed(l, puts...)
	same(t, "L4.applied", "records of one batch", want, scanned(t, l, "k", 1000))
}
