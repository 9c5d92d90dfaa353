package resilience

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// race is an operation during which somebody else commits a change: before
// each of its commands, and between each command and its reply.
type race struct {
	slug, title, requirements string
	kind                      *kind
	prepare                   func(w *wiring, name string) contest
}

type contest struct {
	do     func(ctx context.Context) (any, error)
	change func()
	// wrong says why the answer fits no order of the operation and the change;
	// it is asked when both have ended.
	wrong func(answer any) string
}

var races = []race{
	{"read-overwrite", "A Read during which the record is overwritten shows bytes, version and expiry of one moment.",
		"L2.observation", &location, readOverwrite},
	{"read-delete", "A Read during which the record is deleted shows all of it or Missing.",
		"L2.observation", &location, readDelete},
	{"read-expiry", "A Read during which the record expires is judged by the store time that it reports.",
		"L2.observation L3.expired-missing", &location, readExpiry},
	{"write-lost-update", "A conditional write during which the record changes never overwrites the change.",
		"L4.all-or-nothing L4.version", &location, lostUpdate},
	{"write-lost-create", "A Put if missing during which somebody else creates the record never overwrites it.",
		"L4.all-or-nothing L4.missing", &location, lostCreate},
	{"scan-batch", "A first page during which a batch is committed shows all of the batch or nothing of it.",
		"L4.isolation L5.snapshot", &location, scanBatch},
	{"relocation-read-delete", "A Read of a payload during which it is deleted shows all of it or Missing.",
		"R4.read", &relocation, blobReadDelete},
	{"relocation-read-renew", "A Read of a payload during which it is renewed shows one of the two expiries.",
		"R4.read", &relocation, blobReadRenew},
	{"relocation-read-expiry", "A Read of a payload during which it expires is judged by the store time that it reports.",
		"R4.read", &relocation, blobReadExpiry},
	{"relocation-put-race", "Of two Puts of different payloads under one reference, interleaved in any way, one is " +
		"Stored and one a Conflict.",
		"R4.put R4.put-keeps", &relocation, blobPutRace},
	{"relocation-renew-delete", "A Renew during which the payload is deleted does not bring it back.",
		"R4.renew R4.delete", &relocation, blobRenewDelete},
}

func tornCases() []harness.Case {
	var cases []harness.Case
	for _, r := range slices.Concat(races, wideRaces) {
		cases = append(cases, r.kind.newCase("torn/"+r.slug, r.title, r.requirements, func(t *harness.T) { interleave(t, r) }))
	}
	cases = append(cases, stumpCases()...)
	for i := len(races); i < len(cases); i++ {
		cases[i].Slow = true // they move many MiB
	}
	return cases
}

// interleave counts the commands of the operation, and then runs it once for
// each place between them.
func interleave(t *harness.T, r race) {
	w := open(t, r.kind, 0)
	run := 0
	start := func() contest {
		run++
		return r.prepare(w, fmt.Sprint("torn-", run))
	}
	var mark redisenv.Mark
	for range 2 { // the first time it may load scripts
		c := start()
		mark = w.proxy.Mark()
		mustRace(t, r, c, c.do)
	}
	n := len(w.proxy.CommandsSince(mark))
	if n == 0 {
		t.Skipf("the operation sends no command to Redis, so that nothing can happen between two")
	}
	for _, at := range each(n) {
		for _, place := range []struct {
			name   string
			action redisenv.Action
		}{{"before", redisenv.Hold()}, {"after", redisenv.HoldReply()}} {
			c := start()
			held := w.proxy.Arm(redisenv.Match{}.Number(at), place.action)
			answer := mustRace(t, r, c, func(ctx context.Context) (answer any, err error) {
				meanwhile(t, func() { answer, err = c.do(ctx) }, func(ended <-chan struct{}) {
					defer held.Release()
					select {
					case <-held.Fired():
					case <-ended:
					}
					meanwhile(t, c.change, func(changed <-chan struct{}) {
						// A provider that locks what it works on lets the change wait.
						defer held.Release()
						select {
						case <-changed:
						case <-time.After(500 * time.Millisecond):
						}
					})
				})
				return answer, err
			})
			w.disarm()
			if wrong := c.wrong(answer); wrong != "" {
				t.Failf(requirement(r), "with the change %s command %d of %d, it answered %s, but %s", place.name, at, n,
					harness.Describe(answer), wrong)
			}
		}
	}
}

// requirement is the main one.
func requirement(r race) string { return strings.Fields(r.requirements)[0] }

// mustRace runs an operation that meets no fault.
func mustRace(t *harness.T, r race, c contest, do func(context.Context) (any, error)) any {
	answer, err := do(t.Context())
	if err != nil {
		t.Fatalf(requirement(r), "the operation failed: %v", err)
	}
	return answer
}

// oneOf says that an answer shows none of the states.
func oneOf(answer any, states ...state) string {
	got := stateOf(answer)
	for _, s := range states {
		if got == s {
			return ""
		}
	}
	return fmt.Sprintf("at first %s, and then %s", states[0], states[len(states)-1])
}

func (w *wiring) read(key spi.Key) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) { return w.location.Read(ctx, key) }
}

func readOverwrite(w *wiring, name string) contest {
	key := spi.Key(name)
	w.sideLocation.MustPut(key, []byte(oldBytes), spi.For(float64(hour)))
	before := w.lookAt(name)()
	return contest{
		do:     w.read(key),
		change: func() { w.sideLocation.MustPut(key, []byte(newBytes), spi.For(float64(day))) },
		wrong:  func(answer any) string { return oneOf(answer, before, w.lookAt(name)()) },
	}
}

func readDelete(w *wiring, name string) contest {
	key := spi.Key(name)
	w.sideLocation.MustPut(key, []byte(oldBytes), nil)
	before := w.lookAt(name)()
	return contest{
		do:     w.read(key),
		change: func() { w.sideLocation.MustDelete(key) },
		wrong:  func(answer any) string { return oneOf(answer, before, state{}) },
	}
}

// shortly is a retention that ends while a command is held.
const shortly spi.Millis = 60

func readExpiry(w *wiring, name string) contest {
	key := spi.Key(name)
	applied := w.sideLocation.MustApply(write(nil, putFor(key, oldBytes, float64(shortly))))
	expiresAt := applied.StoreNow + shortly
	return contest{
		do:     w.read(key),
		change: func() { w.await(expiresAt) },
		wrong:  func(answer any) string { return expiryLie(answer, expiresAt) },
	}
}

// await waits until the clock of the main server has passed the time.
func (w *wiring) await(at spi.Millis) {
	for w.t.Now() <= at+1 {
		w.t.Pause(5 * time.Millisecond)
	}
}

// expiryLie says why a read contradicts the store time that it reports.
func expiryLie(answer any, expiresAt spi.Millis) string {
	var now spi.Millis
	found := stateOf(answer)
	switch r := answer.(type) {
	case spi.Found:
		now = r.StoreNow
	case spi.BlobFound:
		now = r.StoreNow
	case spi.Missing:
		now = r.StoreNow
	}
	switch {
	case found.exists && found.bytes != oldBytes:
		return fmt.Sprintf("%q was stored", oldBytes)
	case found.exists && now >= found.expiresAt, !found.exists && now < expiresAt-1:
		return fmt.Sprintf("it expires at %d", expiresAt)
	}
	return ""
}

func lostUpdate(w *wiring, name string) contest {
	version := w.sideLocation.MustPut(spi.Key(name), []byte(oldBytes), nil)
	return w.lostWrite(name, ifVersion(spi.Key(name), version))
}

func lostCreate(w *wiring, name string) contest {
	return w.lostWrite(name, ifMissing(spi.Key(name)))
}

// lostWrite races a conditional write with an unconditional one, which is
// there in the end whatever the order.
func (w *wiring) lostWrite(name string, condition spi.Condition) contest {
	const theirs = "the other's bytes"
	key := spi.Key(name)
	return contest{
		do:     func(ctx context.Context) (any, error) { return w.location.Write(ctx, putIf(key, newBytes, condition)) },
		change: func() { w.sideLocation.MustPut(key, []byte(theirs), nil) },
		wrong: func(answer any) string {
			if now := w.lookAt(name)(); now.bytes != theirs {
				return fmt.Sprintf("the other's write is gone: %s", now)
			}
			return ""
		},
	}
}

func scanBatch(w *wiring, name string) contest {
	keys := []spi.Key{spi.Key(name + "/a"), spi.Key(name + "/b"), spi.Key(name + "/c")}
	batch := func(bytes string) {
		var r spi.WriteRequest
		for _, k := range keys {
			r.Mutations = append(r.Mutations, put(k, bytes))
		}
		w.sideLocation.MustApply(r)
	}
	batch(oldBytes)
	var first spi.Page
	return contest{
		do: func(ctx context.Context) (any, error) {
			r, err := w.location.Scan(ctx, spi.ScanRequest{Prefix: name + "/", Limit: 10})
			first, _ = r.(spi.Page)
			return r, err
		},
		change: func() { batch(newBytes) },
		wrong: func(any) string {
			items := w.location.MustFinish(name+"/", 10, first)
			if len(items) != len(keys) {
				return fmt.Sprintf("the whole scan shows %d of %d records", len(items), len(keys))
			}
			for _, i := range items {
				if string(i.Value.Bytes) != string(items[0].Value.Bytes) {
					return fmt.Sprintf("the batch put the same bytes under all keys, and the scan shows %q and %q",
						items[0].Value.Bytes, i.Value.Bytes)
				}
			}
			return ""
		},
	}
}

func blobReadDelete(w *wiring, name string) contest {
	w.sideRelocation.MustStore(spi.Reference(name), []byte(oldBytes), spi.Retention(hour))
	before := w.lookAt(name)()
	return contest{
		do:     w.readBlob(name),
		change: func() { w.sideRelocation.MustDelete(spi.Reference(name)) },
		wrong: func(answer any) string {
			if stateOf(answer).exists {
				return nearly(answer, before)
			}
			return ""
		},
	}
}

// nearly says that an answer shows none of the states, give or take what may
// pass while an expiry is read.
func nearly(answer any, states ...state) string {
	got := stateOf(answer)
	for _, s := range states {
		if got.same(s) {
			return ""
		}
	}
	return fmt.Sprintf("at first %s, and then %s", states[0], states[len(states)-1])
}

func blobReadRenew(w *wiring, name string) contest {
	w.sideRelocation.MustStore(spi.Reference(name), []byte(oldBytes), spi.Retention(hour))
	before := w.lookAt(name)()
	return contest{
		do:     w.readBlob(name),
		change: func() { w.sideRelocation.MustRenew(spi.Reference(name), spi.Retention(day)) },
		wrong:  func(answer any) string { return nearly(answer, before, w.lookAt(name)()) },
	}
}

func blobReadExpiry(w *wiring, name string) contest {
	stored := w.sideRelocation.MustStore(spi.Reference(name), []byte(oldBytes), spi.Retention(shortly))
	return contest{
		// The result itself, since its store time is what is judged.
		do:     func(ctx context.Context) (any, error) { return w.relocation.Read(ctx, spi.Reference(name)) },
		change: func() { w.await(stored.ExpiresAt) },
		wrong:  func(answer any) string { return expiryLie(answer, stored.ExpiresAt) },
	}
}

func blobPutRace(w *wiring, name string) contest {
	const theirs = "the other's bytes"
	ref := spi.Reference(name)
	var other spi.BlobPutResult
	return contest{
		do: func(ctx context.Context) (any, error) {
			return w.relocation.Put(ctx, ref, []byte(newBytes), spi.Retention(hour))
		},
		change: func() { other = w.sideRelocation.MustPut(ref, []byte(theirs), spi.Retention(hour)) },
		wrong: func(answer any) string {
			now := w.lookAt(name)()
			_, stored := answer.(spi.Stored)
			_, conflict := answer.(spi.Conflict)
			_, otherStored := other.(spi.Stored)
			_, otherConflict := other.(spi.Conflict)
			if stored && otherConflict && now.bytes == newBytes || conflict && otherStored && now.bytes == theirs {
				return ""
			}
			return fmt.Sprintf("the other Put answered %s, and in the end %s", harness.Describe(other), now)
		},
	}
}

func blobRenewDelete(w *wiring, name string) contest {
	ref := spi.Reference(name)
	w.sideRelocation.MustStore(ref, []byte(oldBytes), spi.Retention(hour))
	return contest{
		do:     func(ctx context.Context) (any, error) { return w.relocation.Renew(ctx, ref, spi.Retention(day)) },
		change: func() { w.sideRelocation.MustDelete(ref) },
		wrong: func(any) string {
			if now := w.lookAt(name)(); now.exists {
				return now.String()
			}
			return ""
		},
	}
}
