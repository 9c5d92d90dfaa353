package resilience

import (
	"context"
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// operation is one of the two contracts' operations, ready to be disturbed.
type operation struct {
	slug, title string
	kind        *kind
	rule        string // what it answers to on a Redis without a fault
	once        bool   // its effect would show if it happened twice
	follows     bool   // it goes on with what the same instance began
	prepare     func(w *wiring, name string) attempt
}

// attempt is one operation on a name of its own.
type attempt struct {
	// do runs the operation on the instance behind the proxy.
	do func(ctx context.Context) (any, error)
	// look tells, past the proxy, what is under the name.
	look func() state
	// lie says why the answer is not true if this is under the name now; ""
	// if it is.
	lie func(answer any, now state) string
	// again does what a caller does to learn the outcome; nil if there is
	// nothing to learn.
	again func(now state)
}

// state is what is under a key or reference.
type state struct {
	exists    bool
	bytes     string
	version   spi.Version
	expiresAt spi.Millis
	// give is by how much a payload's expiry may be off: a provider may have
	// asked for the time and for the payload by commands of their own.
	give spi.Millis
}

// took runs an operation and tells how long it took, rounded up.
func took(operation func()) spi.Millis {
	began := time.Now()
	operation()
	return spi.Millis(time.Since(began).Milliseconds()) + 1
}

// same reports whether both tell of the same thing.
func (s state) same(o state) bool {
	give := s.give + o.give
	near := s.expiresAt >= o.expiresAt-give && s.expiresAt <= o.expiresAt+give
	return near && s.exists == o.exists && s.bytes == o.bytes && s.version == o.version
}

func (s state) String() string {
	if !s.exists {
		return "nothing is there"
	}
	return fmt.Sprintf("there is %q version=%q expires=%d", s.bytes, s.version, s.expiresAt)
}

const (
	oldBytes = "old bytes"
	newBytes = "new bytes, more of them"
)

var operations = []operation{
	{slug: "location-read", title: "a Read", kind: &location, rule: "L2.observation", prepare: locationRead},
	{slug: "location-put", title: "a Put", kind: &location, rule: "L4.put", once: true,
		prepare: func(w *wiring, name string) attempt {
			w.sideLocation.MustPut(spi.Key(name), []byte(oldBytes), nil)
			return locationWrite(w, name, nil)
		}},
	{slug: "location-create", title: "a Put if missing", kind: &location, rule: "L4.missing", once: true,
		prepare: func(w *wiring, name string) attempt {
			return locationWrite(w, name, ifMissing(spi.Key(name)))
		}},
	{slug: "location-cas", title: "a Put if the version is unchanged", kind: &location, rule: "L4.version", once: true,
		prepare: func(w *wiring, name string) attempt {
			v := w.sideLocation.MustPut(spi.Key(name), []byte(oldBytes), nil)
			return locationWrite(w, name, ifVersion(spi.Key(name), v))
		}},
	{slug: "location-delete", title: "a Delete if the version is unchanged", kind: &location, rule: "L4.delete", once: true,
		prepare: locationDelete},
	{slug: "scan-first", title: "a Scan for the first page", kind: &location, rule: "L5.complete", prepare: scanFirst},
	{slug: "scan-next", title: "a Scan for the next page", kind: &location, rule: "L5.complete", follows: true,
		prepare: func(w *wiring, name string) attempt { return scanNext(w, name, 1) }},
	{slug: "scan-last", title: "a Scan for the last page", kind: &location, rule: "L5.complete", follows: true,
		prepare: func(w *wiring, name string) attempt { return scanNext(w, name, 10) }},
	{slug: "relocation-put", title: "a Put of a payload", kind: &relocation, rule: "R4.put", prepare: relocationPut},
	{slug: "relocation-read", title: "a Read of a payload", kind: &relocation, rule: "R4.read", prepare: relocationRead},
	{slug: "relocation-renew", title: "a Renew", kind: &relocation, rule: "R4.renew", prepare: relocationRenew},
	{slug: "relocation-delete", title: "a Delete of a payload", kind: &relocation, rule: "R4.delete", prepare: relocationDelete},
}

// operationsOf are the operations on a store of the kind.
func operationsOf(k *kind) []operation {
	var of []operation
	for _, op := range operations {
		if op.kind == k {
			of = append(of, op)
		}
	}
	return of
}

// lookAt reads a name past the proxy.
func (w *wiring) lookAt(name string) func() state {
	return func() state {
		if w.kind == &location {
			return stateOf(w.sideLocation.MustRead(spi.Key(name)))
		}
		var s state
		give := took(func() { s = stateOf(w.sideRelocation.MustRead(spi.Reference(name))) })
		s.give = give
		return s
	}
}

func stateOf(answer any) state {
	switch r := answer.(type) {
	case spi.Found:
		return state{exists: true, bytes: string(r.Value.Bytes), version: r.Value.Version, expiresAt: r.Value.ExpiresAt}
	case state:
		return r
	case spi.BlobFound:
		return state{exists: true, bytes: string(r.Bytes), expiresAt: r.ExpiresAt}
	}
	return state{}
}

// reads says why the answer of a read is not what is there.
func reads(answer any, now state) string {
	if got := stateOf(answer); !got.same(now) {
		return now.String()
	}
	return ""
}

func locationRead(w *wiring, name string) attempt {
	w.sideLocation.MustPut(spi.Key(name), []byte(oldBytes), spi.For(float64(hour)))
	return attempt{
		do:   func(ctx context.Context) (any, error) { return w.location.Read(ctx, spi.Key(name)) },
		look: w.lookAt(name), lie: reads,
	}
}

// locationWrite puts new bytes under a condition that holds.
func locationWrite(w *wiring, name string, condition spi.Condition) attempt {
	key := spi.Key(name)
	request := putIf(key, newBytes, condition)
	return attempt{
		do:   func(ctx context.Context) (any, error) { return w.location.Write(ctx, request) },
		look: w.lookAt(name),
		lie: func(answer any, now state) string {
			switch r := answer.(type) {
			case spi.Conflict:
				return "its condition held"
			case spi.Applied:
				if len(r.PutVersions) == 1 && r.PutVersions[0] == (spi.PutVersion{Key: key, Version: now.version}) &&
					now.bytes == newBytes {
					return ""
				}
			}
			return now.String()
		},
		again: func(now state) {
			seen := w.location.Citing(w.kind.reconstruct).MustRead(key)
			w.t.Checkf(stateOf(seen) == now, w.kind.reconstruct, "the same instance reads %s, but %s", harness.Describe(seen),
				now)
			var known spi.Condition = ifMissing(key)
			if now.exists {
				known = ifVersion(key, now.version)
			}
			r := w.location.Citing(w.kind.reconstruct).MustWrite(putIf(key, "decided", known))
			_, applied := r.(spi.Applied)
			w.t.Checkf(applied, w.kind.reconstruct, "a write under the version that was read afterwards answered %s",
				harness.Describe(r))
		},
	}
}

// locationDelete deletes a record under its version.
func locationDelete(w *wiring, name string) attempt {
	key := spi.Key(name)
	request := write(given(ifVersion(key, w.sideLocation.MustPut(key, []byte(oldBytes), nil))), del(key))
	return attempt{
		do:   func(ctx context.Context) (any, error) { return w.location.Write(ctx, request) },
		look: w.lookAt(name),
		lie: func(answer any, now state) string {
			if _, conflict := answer.(spi.Conflict); conflict {
				return "its condition held"
			}
			if now.exists {
				return now.String()
			}
			return ""
		},
	}
}

// putIf is a write of one value, under a condition unless that is nil.
func putIf(key spi.Key, value string, condition spi.Condition) spi.WriteRequest {
	w := write(nil, put(key, value))
	if condition != nil {
		w.Conditions = given(condition)
	}
	return w
}

// scanned are the records below a name that the scans look for.
func scanned(w *wiring, name string) map[spi.Key]state {
	const records = 3
	all := map[spi.Key]state{}
	for i := range records {
		key := spi.Key(fmt.Sprint(name, "/", i))
		version := w.sideLocation.MustPut(key, []byte(key), nil)
		all[key] = state{exists: true, bytes: string(key), version: version}
	}
	return all
}

func scanFirst(w *wiring, name string) attempt {
	all := scanned(w, name)
	return attempt{
		do: func(ctx context.Context) (any, error) {
			return w.location.Scan(ctx, spi.ScanRequest{Prefix: name + "/", Limit: 2})
		},
		look: func() state { return state{} },
		lie:  func(answer any, _ state) string { return pageLie(all, nil, answer, 2) },
	}
}

// scanNext asks for the second page of a scan, of which the first showed one
// record. That page was not handed out yet: a provider that asks Redis for it
// again after a lost reply must have the snapshot still.
func scanNext(w *wiring, name string, limit int) attempt {
	all := scanned(w, name)
	var first spi.Page
	w.t.Await(w.t.Closest(w.kind.recover), "a first page", recoverLimit, func() bool {
		r, err := w.location.Scan(w.t.Context(), spi.ScanRequest{Prefix: name + "/", Limit: 1})
		page, ok := r.(spi.Page)
		first = page
		return err == nil && ok
	})
	if first.Next == nil {
		w.t.Fatalf(w.t.Closest(), "a page of %d with limit 1 has no cursor, although %d records match", len(first.Items),
			len(all))
	}
	return attempt{
		do: func(ctx context.Context) (any, error) {
			return w.location.Scan(ctx, spi.ScanRequest{Prefix: name + "/", Cursor: first.Next, Limit: limit})
		},
		look: func() state { return state{} },
		lie:  func(answer any, _ state) string { return pageLie(all, first.Items, answer, limit) },
	}
}

// pageLie says why an answer can't follow on the items that earlier pages of a
// snapshot of all records showed.
func pageLie(all map[spi.Key]state, before []spi.Item, answer any, limit int) string {
	page, ok := answer.(spi.Page)
	if !ok {
		return "the snapshot is there"
	}
	seen := map[spi.Key]bool{}
	for _, i := range before {
		seen[i.Key] = true
	}
	for _, i := range page.Items {
		if want := all[i.Key]; seen[i.Key] || stateOf(spi.Found{Value: i.Value}) != want {
			return fmt.Sprintf("of %q %s", i.Key, want)
		}
		seen[i.Key] = true
	}
	if len(page.Items) > limit || page.Next == nil && len(seen) != len(all) {
		return fmt.Sprintf("the limit is %d, and the pages so far show %d of %d records", limit, len(seen), len(all))
	}
	return ""
}

func relocationPut(w *wiring, name string) attempt {
	ref := spi.Reference(name)
	var give spi.Millis
	return attempt{
		do: func(ctx context.Context) (answer any, err error) {
			give = took(func() { answer, err = w.relocation.Put(ctx, ref, []byte(newBytes), spi.Retention(hour)) })
			return answer, err
		},
		look: w.lookAt(name),
		lie: func(answer any, now state) string {
			var expiresAt spi.Millis
			switch r := answer.(type) {
			case spi.Stored:
				expiresAt = r.ExpiresAt
			case spi.AlreadyStored:
				expiresAt = r.ExpiresAt
			default:
				return "the reference was free"
			}
			return blobLie(now, newBytes, expiresAt, give)
		},
		again: func(now state) {
			r := w.relocation.Citing(w.kind.reconstruct).MustPut(ref, []byte(newBytes), spi.Retention(hour))
			_, already := r.(spi.AlreadyStored)
			_, stored := r.(spi.Stored)
			w.t.Checkf(already && now.exists || stored && !now.exists, w.kind.reconstruct,
				"Put again with the same bytes answered %s, but before it %s", harness.Describe(r), now)
			found := w.relocation.Citing(w.kind.reconstruct).MustFind(ref)
			w.t.EqualBytes(w.kind.reconstruct, "the payload after Put again", []byte(newBytes), found.Bytes)
		},
	}
}

// blobLie says why a payload is not there with these bytes and this expiry,
// which an operation told that took as long as give says.
func blobLie(now state, bytes string, expiresAt, give spi.Millis) string {
	if !now.same(state{exists: true, bytes: bytes, expiresAt: expiresAt, give: give}) {
		return now.String()
	}
	return ""
}

// readBlob reads a payload on the instance behind the proxy; it answers a state.
func (w *wiring) readBlob(name string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		var r spi.BlobReadResult
		var err error
		give := took(func() { r, err = w.relocation.Read(ctx, spi.Reference(name)) })
		s := stateOf(r)
		s.give = give
		return s, err
	}
}

func relocationRead(w *wiring, name string) attempt {
	w.sideRelocation.MustStore(spi.Reference(name), []byte(oldBytes), spi.Retention(hour))
	return attempt{
		do:   w.readBlob(name),
		look: w.lookAt(name), lie: reads,
	}
}

func relocationRenew(w *wiring, name string) attempt {
	w.sideRelocation.MustStore(spi.Reference(name), []byte(oldBytes), spi.Retention(hour))
	var give spi.Millis
	return attempt{
		do: func(ctx context.Context) (answer any, err error) {
			give = took(func() { answer, err = w.relocation.Renew(ctx, spi.Reference(name), spi.Retention(day)) })
			return answer, err
		},
		look: w.lookAt(name),
		lie: func(answer any, now state) string {
			r, ok := answer.(spi.Renewed)
			if !ok {
				return now.String()
			}
			return blobLie(now, oldBytes, r.ExpiresAt, give)
		},
	}
}

func relocationDelete(w *wiring, name string) attempt {
	w.sideRelocation.MustStore(spi.Reference(name), []byte(oldBytes), spi.Retention(hour))
	return attempt{
		do: func(ctx context.Context) (any, error) {
			return "deleted", w.relocation.Delete(ctx, spi.Reference(name))
		},
		look: w.lookAt(name),
		lie: func(_ any, now state) string {
			if now.exists {
				return now.String()
			}
			return ""
		},
	}
}
