package spi

import (
	"fmt"

	"github.com/zlink-systems/zlink-conformance/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func mutationCases() []harness.Case {
	var cases []harness.Case
	for _, row := range mutationRows {
		cases = append(cases, locationCase("mutations/"+row.slug, row.title, row.requirement+" L4.applied", func(t *harness.T) { mutationCase(t, row) }))
	}
	return append(cases,
		locationCase("mutations/applied", "Applied holds one version for each Put and none for a Delete", "L4.applied", appliedVersions),
		locationCase("mutations/one-time", "All Puts of a batch expire from one store time", "L4.applied L3.expiry-clock", appliedOneTime),
	)
}

// mutationRow is one mutation of a key with a past and what it leaves.
type mutationRow struct {
	slug, title string
	requirement string
	past        past
	expires     bool // the past ends with the expiry of the value
	mutation    func(spi.Key) spi.Mutation
	want        *spi.Value // nil: absent; the version is the applied one, ExpiresAt is relative to the commit
}

func putNew(k spi.Key) spi.Mutation    { return put(k, "new") }
func putLeased(k spi.Key) spi.Mutation { return putFor(k, "new", 3_600_000) }
func putAgain(k spi.Key) spi.Mutation  { return put(k, "live") }
func remove(k spi.Key) spi.Mutation    { return spi.Delete{Key: k} }

var (
	newValue  = &spi.Value{Bytes: []byte("new")}
	newLeased = &spi.Value{Bytes: []byte("new"), ExpiresAt: 3_600_000}
)

var mutationRows = []mutationRow{
	// Put stores its bytes, replaces what was there, and issues a new version.
	{"put-absent", "Put creates a key", "L4.put", absent, false, putNew, newValue},
	{"put-live", "Put replaces a value", "L4.put", live, false, putNew, newValue},
	{"put-again", "Put of the same bytes issues a new version", "L4.put", live, false, putAgain, &spi.Value{Bytes: []byte("live")}},
	{"put-empty", "Put replaces an empty value", "L4.put", liveEmpty, false, putNew, newValue},
	{"put-deleted", "Put recreates a deleted key", "L4.put", deleted, false, putNew, newValue},
	{"put-expired", "Put recreates an expired key", "L4.put", expiring, true, putNew, newValue},
	{"put-leased-absent", "Put with retention creates a key that expires", "L4.put", absent, false, putLeased, newLeased},
	{"put-leased-durable", "Put with retention makes a durable value expire", "L4.put", live, false, putLeased, newLeased},
	{"put-leased-expired", "Put with retention recreates an expired key", "L4.put", expiring, true, putLeased, newLeased},
	{"put-durable-leased", "Put without retention makes an expiring value durable", "L4.put", leased, false, putNew, newValue},
	// Delete removes the key; deleting an absent one applies.
	{"delete-live", "Delete removes a value", "L4.delete", live, false, remove, nil},
	{"delete-leased", "Delete removes a value with retention", "L4.delete", leased, false, remove, nil},
	{"delete-replaced", "Delete brings no older value back", "L4.delete", replaced, false, remove, nil},
	{"delete-absent", "Delete of an absent key applies", "L4.delete", absent, false, remove, nil},
	{"delete-deleted", "Delete of a deleted key applies", "L4.delete", deleted, false, remove, nil},
	{"delete-expired", "Delete of an expired key applies", "L4.delete", expiring, true, remove, nil},
	{"delete-expired-history", "Delete of an expired key brings no older value back", "L4.delete", expiringAfterDurable, true, remove, nil},
}

func mutationCase(t *harness.T, row mutationRow) {
	l := t.Location()
	versions := row.past(l, "k")
	if row.expires {
		awaitExpiry(t, t.Now()+shortRetention+1)
	}
	a := l.MustApply(write(nil, row.mutation("k")))
	want := records{}
	if row.want != nil {
		v := *row.want
		v.Version = versionsOf(a)["k"]
		if v.ExpiresAt != spi.NoExpiry {
			v.ExpiresAt += a.StoreNow
		}
		want["k"] = v
		for _, old := range versions {
			t.Checkf(v.Version != old, "L3.version-fresh", "the Put was given the version %.80q that the key had before", old)
		}
	}
	t.Equal("L4.applied", "the number of versions", len(want), len(a.PutVersions))
	same(t, row.requirement, "after "+harness.Describe(write(nil, row.mutation("k"))), want, look(l, "k"))
	// A scan and a condition say the same.
	same(t, row.requirement, "in a scan", want, scanned(t, l, "", 10))
	if row.want == nil {
		l.MustApply(write(given(spi.MissingCondition{Key: "k"})))
		for _, old := range versions {
			l.MustConflict(write(given(spi.VersionCondition{Key: "k", Expected: old})))
		}
	} else {
		l.MustConflict(write(given(spi.MissingCondition{Key: "k"})))
		l.MustApply(write(given(spi.VersionCondition{Key: "k", Expected: want["k"].Version})))
	}
}

// Applied returns each Put's version: exactly one for each, none for a Delete.
func appliedVersions(t *harness.T) {
	l := t.Location()
	keys := numbered("k", 60)
	seed(l, put(keys[1], "old"), put(keys[2], "old"))
	request := write(given(spi.MissingCondition{Key: "checked"}))
	for i, k := range keys {
		if i%3 == 2 {
			request.Mutations = append(request.Mutations, spi.Delete{Key: k})
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
