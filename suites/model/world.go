package model

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// world is the contract as a model in memory: what a store holds after the
// operations so far, as far as their answers leave it open. Versions, cursors
// and times are taken from the answers: a version is the one of its Put, a
// value has expired when an answer's own store time says so.
type world struct {
	now       spi.Millis      // the latest store time that was answered
	during    harness.Bracket // the Redis's clock around the operation whose answer is judged
	records   map[spi.Key]record
	issued    map[spi.Key][]spi.Version
	rejected  map[spi.Key][]spi.Mutation // by Conflict, since the key last changed
	deleted   map[spi.Key]bool
	changes   int             // mutations that were applied
	changed   map[spi.Key]int // changes at the key's last one
	snapshots map[string]*snapshot

	blobs        map[spi.Reference]blob
	deletedBlobs map[spi.Reference]bool

	// What an operation named that was an argument error for its retention,
	// since an answer showed the last time that it changed nothing.
	refused      map[spi.Key]bool
	refusedBlobs map[spi.Reference]bool
}

// record is a value that was put and not deleted; it may have expired.
type record struct {
	bytes   []byte
	version spi.Version
	expires span
}

// at says whether the record is there by an answer's own store time.
func (r record) at(now spi.Millis) state {
	switch {
	case r.expires == span{} || now < r.expires.low:
		return live
	case now >= r.expires.high:
		return gone
	}
	return unclear
}

func newWorld(now spi.Millis) *world {
	return &world{
		now: now, during: harness.Bracket{Before: now, After: now}, records: map[spi.Key]record{},
		issued: map[spi.Key][]spi.Version{}, rejected: map[spi.Key][]spi.Mutation{},
		deleted: map[spi.Key]bool{}, changed: map[spi.Key]int{}, snapshots: map[string]*snapshot{},
		blobs: map[spi.Reference]blob{}, deletedBlobs: map[spi.Reference]bool{},
		refused: map[spi.Key]bool{}, refusedBlobs: map[spi.Reference]bool{},
	}
}

// breach says which requirement an answer breaks, and how.
type breach struct{ requirement, what string }

func (b *breach) Error() string { return b.requirement + ": " + b.what }

func broken(requirement, format string, args ...any) error {
	return &breach{requirement, fmt.Sprintf(format, args...)}
}

// rounding is the millisecond by which a store time or an expiry may be
// rounded.
const rounding = 1

// lostBefore is how long before its expiry a value that is gone was lost,
// rather than judged by another clock or a rounded retention.
const lostBefore = 60_000

// tick checks that the store time is one of the operation and never goes back.
func (w *world) tick(requirement string, now spi.Millis) error {
	if !moment(w.during).holds(now) {
		return broken(requirement, "the store time is %d, but the store's clock showed %d before the operation and %d after it",
			now, w.during.Before, w.during.After)
	}
	if now < w.now-rounding {
		return broken(requirement, "the store time is %d, %d ms before an earlier one", now, w.now-now)
	}
	w.now = max(w.now, now)
	return nil
}

// unissued is a version that no provider issues.
const unissued = "zlink-conformance: never issued"

// request is the batch with the versions that the script means.
func (w *world) request(s writeStep) spi.WriteRequest {
	var r spi.WriteRequest
	for _, c := range s.conditions {
		if c.missing {
			r.Conditions = append(r.Conditions, spi.MissingCondition{Key: c.key})
			continue
		}
		v := spi.Version(unissued)
		if all := w.issued[c.from]; c.back < len(all) {
			v = all[len(all)-1-c.back]
		}
		r.Conditions = append(r.Conditions, spi.VersionCondition{Key: c.key, Expected: v})
	}
	for _, m := range s.mutations {
		if m.delete {
			r.Mutations = append(r.Mutations, spi.Delete{Key: m.key})
			continue
		}
		r.Mutations = append(r.Mutations, spi.Put{Key: m.key, Bytes: m.value.bytes(), Retention: m.retention})
	}
	return r
}

// holds evaluates a condition, live if it holds and gone if not, and names the
// requirement that says so.
func (w *world) holds(c spi.Condition, now spi.Millis) (state, string) {
	there := gone
	r, ok := w.records[c.ConditionKey()]
	if ok {
		there = r.at(now)
	}
	if v, is := c.(spi.VersionCondition); is {
		if r.version != v.Expected {
			there = gone
		}
		return there, "L4.version"
	}
	return live - there, "L4.missing"
}

// wrote judges the answer to a batch and takes its mutations over.
func (w *world) wrote(r spi.WriteRequest, result spi.WriteResult) error {
	switch a := result.(type) {
	case spi.Applied:
		if err := w.tick("L3.store-now", a.StoreNow); err != nil {
			return err
		}
		for _, c := range r.Conditions {
			if held, requirement := w.holds(c, a.StoreNow); held == gone {
				return broken(requirement, "the batch applied although its condition on %q does not hold", c.ConditionKey())
			}
		}
		return w.apply(r, a)
	case spi.Conflict:
		if err := w.tick("L3.store-now", a.StoreNow); err != nil {
			return err
		}
		for _, c := range r.Conditions {
			if held, _ := w.holds(c, a.StoreNow); held != live {
				for _, m := range r.Mutations {
					w.rejected[m.MutationKey()] = append(w.rejected[m.MutationKey()], m)
				}
				return nil
			}
		}
		return broken(mainOf(r), "the batch conflicts although all of its conditions hold")
	}
	return broken("L6.closed-results", "a batch answered %s", harness.Describe(result))
}

// mainOf is the requirement by which a batch whose conditions hold applies.
func mainOf(r spi.WriteRequest) string {
	for _, c := range r.Conditions {
		if _, ok := c.(spi.VersionCondition); ok {
			return "L4.version"
		}
	}
	if len(r.Conditions) > 0 {
		return "L4.missing"
	}
	for _, m := range r.Mutations {
		if _, ok := m.(spi.Delete); ok {
			return "L4.delete"
		}
	}
	return "L4.put"
}

func (w *world) apply(r spi.WriteRequest, a spi.Applied) error {
	versions := map[spi.Key]spi.Version{}
	for _, v := range a.PutVersions {
		versions[v.Key] = v.Version
	}
	puts := 0
	for _, m := range r.Mutations {
		key := m.MutationKey()
		delete(w.rejected, key)
		w.changes++
		w.changed[key] = w.changes
		p, put := m.(spi.Put)
		if !put {
			delete(w.records, key)
			w.deleted[key] = true
			continue
		}
		puts++
		v, ok := versions[key]
		if !ok {
			return broken("L4.applied", "Applied holds no version for the Put of %q", key)
		}
		if err := w.issue(key, v); err != nil {
			return err
		}
		next := record{bytes: p.Bytes, version: v}
		if p.Retention != nil {
			if next.expires, ok = exact(a.StoreNow).after(*p.Retention); !ok {
				return broken("L4.retention", "a retention of %s ms was kept, though 64 bits hold no time that is so late",
					ms(*p.Retention))
			}
		}
		w.records[key] = next
		delete(w.deleted, key)
	}
	if puts != len(a.PutVersions) || puts != len(versions) {
		return broken("L4.applied", "Applied holds %d versions for %d Puts", len(a.PutVersions), puts)
	}
	return nil
}

func (w *world) issue(key spi.Key, v spi.Version) error {
	if len(v) == 0 || len(v) > spi.MaxVersionBytes || !utf8.ValidString(string(v)) {
		return broken("L3.version-form", "the version %.100q is not 1 to %d bytes of UTF-8", v, spi.MaxVersionBytes)
	}
	for _, old := range w.issued[key] {
		if v == old {
			return broken("L3.version-fresh", "the version %.100q of %q was issued before", v, key)
		}
	}
	w.issued[key] = append(w.issued[key], v)
	return nil
}

// saw judges the answer to a read.
func (w *world) saw(key spi.Key, result spi.ReadResult) error {
	r, known := w.records[key]
	switch a := result.(type) {
	case spi.Missing:
		if err := w.tick("L3.store-now", a.StoreNow); err != nil {
			return err
		}
		switch {
		case !known || r.at(a.StoreNow) == gone:
			return nil
		case r.at(a.StoreNow) == unclear:
			r.expires.high = a.StoreNow
			w.records[key] = r
			return nil
		case w.wasRejected(key, nil):
			return broken("L4.all-or-nothing", "%q is missing, as a batch that conflicted would have left it", key)
		case r.expires.low > a.StoreNow+lostBefore:
			return broken("L4.put", "%q is missing at %d although it was put and not deleted, long before it expires at %d", key,
				a.StoreNow, r.expires.low)
		case r.expires != span{}:
			return broken("L3.expiry-clock", "%q is missing at %d, before it expires at %d", key, a.StoreNow, r.expires.low)
		}
		return broken("L3.value-durable", "%q is missing although it was put and not deleted", key)
	case spi.Found:
		if err := w.tick("L3.store-now", a.StoreNow); err != nil {
			return err
		}
		if known && r.at(a.StoreNow) == unclear {
			r.expires.low = a.StoreNow + 1
		}
		if known && r.at(a.StoreNow) == live {
			return w.compare(key, r, a.Value)
		}
		switch {
		case w.wasRejected(key, &a.Value):
			return broken("L4.all-or-nothing", "%q was found as a batch that conflicted would have left it", key)
		case known:
			return broken("L3.expired-missing", "%q was found at %d although it expired at %d", key, a.StoreNow, r.expires.high)
		case w.deleted[key]:
			return broken("L4.delete", "%q was found although it was deleted", key)
		}
		return broken("L2.observation", "%q was found although it was never put", key)
	}
	return broken("L6.closed-results", "a read answered %s", harness.Describe(result))
}

// compare judges a value that must be there, and takes over which of the
// expiries that its retention may mean it tells.
func (w *world) compare(key spi.Key, want record, got spi.Value) error {
	switch {
	case !bytes.Equal(want.bytes, got.Bytes) && w.wasRejected(key, &got):
		return broken("L4.all-or-nothing", "%q holds what a batch that conflicted would have put", key)
	case !bytes.Equal(want.bytes, got.Bytes):
		return broken("L3.value-bytes", "%q holds %d bytes that are not the %d bytes of its last Put", key, len(got.Bytes),
			len(want.bytes))
	case want.version != got.Version:
		return broken("L2.observation", "%q has the version %.100q, not %.100q of its last Put", key, got.Version, want.version)
	case !want.expires.holds(got.ExpiresAt):
		return broken("L3.expiry-clock", "%q expires at %d, not at %d as its Put said", key, got.ExpiresAt, want.expires.low)
	}
	if now := w.records[key]; now.version == want.version { // from here on no other expiry will do
		now.expires = exact(got.ExpiresAt)
		w.records[key] = now
	}
	return nil
}

// wasRejected reports whether a batch that conflicted would have put the value
// under the key, or deleted the key if the value is nil.
func (w *world) wasRejected(key spi.Key, v *spi.Value) bool {
	for _, m := range w.rejected[key] {
		p, put := m.(spi.Put)
		if put == (v != nil) && (v == nil || bytes.Equal(p.Bytes, v.Bytes)) {
			return true
		}
	}
	return false
}
