package payloadcases

import (
	"bytes"
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// renewCases: how long payloads are kept (P3.renew, P3.defaults).
func renewCases() []harness.Case {
	return []harness.Case{
		relocationCase("renew/extends", "Renewing extends every chunk, as another instance can see before "+
			"the index is extended too.",
			"P3.renew R4.renew", renewExtends),
		relocationCase("renew/keeps-alive", "A payload that was renewed is whole when its first retention is over.",
			"P3.renew R6.published", renewKeepsAlive),
		relocationCase("renew/due", "A renewal is due when 12 hours remain by the store's expiry and clock, and not before.",
			"P3.defaults R4.renew", renewDue),
		relocationCase("defaults/retention", "Chunks and index are kept for 24 hours by default.",
			"P3.defaults R4.put", defaultRetention),
	}
}

// kept checks that a blob is kept for the retention from a time between before
// and after on.
func kept(t *harness.T, requirement string, ref spi.Reference, before, after, retention spi.Millis) {
	var f spi.BlobFound
	read := t.Bracket(func() { f = t.Relocation().MustFind(ref) })
	t.Expires(requirement, fmt.Sprintf("the expiry of %q", ref), harness.Bracket{Before: before, After: after}.Widened(read),
		spi.Retention(retention), f.ExpiresAt)
}

func renewExtends(t *harness.T) {
	data := t.RandomBytes(3*chunkSize + 1)
	x := onTarget(t).keeping(hour).put("P3.renew", "p", data)
	refs := all("p", x)
	before := t.Now()
	looked := false
	f := onTarget(t).keeping(day).watched(func(call string, ref spi.Reference) {
		if ref != index("p") {
			return
		}
		looked = true
		for _, chunk := range refs[:len(refs)-1] {
			kept(t, "P3.renew", chunk, before, t.Now(), day)
		}
	})
	if err := f.Renew(t.Context(), index("p")); err != nil {
		f.fail("P3.renew", err, "renewing a payload")
	}
	if !looked {
		t.Troublef("the index was renewed unseen")
	}
	for _, ref := range refs {
		kept(t, "P3.renew", ref, before, t.Now(), day)
	}
	f.whole("P3.renew", "p", data)
}

// renewKeepsAlive tries again with more time if the machine was too slow to
// renew within the first retention.
func renewKeepsAlive(t *harness.T) {
	f, data := onTarget(t), t.RandomBytes(2*chunkSize)
	for _, retention := range []spi.Millis{150, 1500, 10_000} {
		name := fmt.Sprint("p", retention)
		began := t.Now()
		_, err := f.keeping(retention).Put(t.Context(), plan(name, len(data)), bytes.NewReader(data))
		ended := t.Now()
		if err == nil {
			err = f.keeping(hour).Renew(t.Context(), index(name))
		}
		if err != nil {
			if t.Now() >= began+retention-late {
				continue
			}
			f.fail("P3.renew", err, "storing and renewing a payload within its retention of %d ms", retention)
		}
		awaitTime(t, ended+retention+late)
		f.whole("P3.renew", name, data)
		return
	}
	t.Skipf("the machine is too slow to store and renew within 10 s")
}

func renewDue(t *harness.T) {
	f, data := onTarget(t), t.RandomBytes(chunkSize+1)
	const minute = 60_000 // by which the machine may be late
	for _, row := range []struct {
		name      string
		retention spi.Millis
		due       bool
	}{
		{"default", day, false},
		{"early", 12*hour + minute, false},
		{"due", 12*hour - minute, true},
		{"late", hour, true},
	} {
		x := f.keeping(row.retention).put("P3.defaults", row.name, data)
		before := t.Now()
		renewed, err := f.RenewDue(t.Context(), index(row.name))
		if err != nil {
			f.fail("P3.defaults", err, "asking whether a renewal is due")
		}
		t.Checkf(renewed == row.due, "P3.defaults", "with %d ms left a renewal is due: %t, expected %t", row.retention, renewed,
			row.due)
		if row.due {
			for _, ref := range all(row.name, x) {
				kept(t, "P3.defaults", ref, before, t.Now(), day)
			}
		}
	}
}

func defaultRetention(t *harness.T) {
	before := t.Now()
	x := onTarget(t).put("P3.defaults", "p", t.RandomBytes(2*chunkSize+5))
	after := t.Now()
	for _, ref := range all("p", x) {
		kept(t, "P3.defaults", ref, before, after, day)
	}
}
