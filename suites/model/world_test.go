package model

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func requirement(err error) string {
	var b *breach
	if errors.As(err, &b) {
		return b.requirement
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// at lets the answer be one of an operation that took place at its own time.
func at[A any](w *world, answer A) A {
	if v := reflect.ValueOf(answer); v.Kind() == reflect.Struct && v.FieldByName("StoreNow").IsValid() {
		now := spi.Millis(v.FieldByName("StoreNow").Int())
		w.during = harness.Bracket{Before: now, After: now}
	}
	return answer
}

func text(s string) data { return data{text: s} }

func put(key spi.Key, value string) writeStep {
	return writeStep{mutations: []mutation{{key: key, value: text(value)}}}
}

// holding is a world in which a holds "x" as version v1, until 1000 if it
// expires, b was deleted, and the store time is 100.
func holding(t *testing.T, expires bool) *world {
	t.Helper()
	w := newWorld(100)
	p := put("a", "x")
	if expires {
		p.mutations[0].retention = spi.For(900)
	}
	for _, s := range []struct {
		writeStep
		versions []spi.PutVersion
	}{
		{p, []spi.PutVersion{{Key: "a", Version: "v1"}}},
		{put("b", "y"), []spi.PutVersion{{Key: "b", Version: "v1"}}}, // versions are of a key
		{writeStep{mutations: []mutation{{key: "b", delete: true}}}, nil},
		{writeStep{mutations: []mutation{{key: "c", delete: true}}}, nil},
	} {
		if err := w.wrote(w.request(s.writeStep), spi.Applied{PutVersions: s.versions, StoreNow: 100}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestModelOfReads(t *testing.T) {
	value := func(bytes string, version spi.Version, expires spi.Millis) spi.Value {
		return spi.Value{Bytes: []byte(bytes), Version: version, ExpiresAt: expires}
	}
	for _, c := range []struct {
		expires bool
		key     spi.Key
		answer  spi.ReadResult
		want    string
	}{
		{false, "a", spi.Found{Value: value("x", "v1", 0), StoreNow: 100}, ""},
		{false, "a", spi.Found{Value: value("y", "v1", 0), StoreNow: 100}, "L3.value-bytes"},
		{false, "a", spi.Found{Value: value("x", "v2", 0), StoreNow: 100}, "L2.observation"},
		{false, "a", spi.Found{Value: value("x", "v1", 5000), StoreNow: 100}, "L3.expiry-clock"},
		{false, "a", spi.Found{Value: value("x", "v1", 0), StoreNow: 98}, "L3.store-now"},
		{false, "a", spi.Missing{StoreNow: 100}, "L3.value-durable"},
		{true, "a", spi.Found{Value: value("x", "v1", 1000), StoreNow: 999}, ""},
		{true, "a", spi.Found{Value: value("x", "v1", 1000), StoreNow: 1000}, "L3.expired-missing"},
		{true, "a", spi.Found{Value: value("x", "v1", 1001), StoreNow: 999}, "L3.expiry-clock"},
		{true, "a", spi.Missing{StoreNow: 999}, "L3.expiry-clock"},
		{true, "a", spi.Missing{StoreNow: 1000}, ""},
		{false, "b", spi.Missing{StoreNow: 100}, ""},
		{false, "b", spi.Found{Value: value("y", "v1", 0), StoreNow: 100}, "L4.delete"},
		{false, "d", spi.Found{Value: value("y", "v1", 0), StoreNow: 100}, "L2.observation"},
		{false, "d", nil, "L6.closed-results"},
	} {
		w := holding(t, c.expires)
		if got := requirement(w.saw(c.key, at(w, c.answer))); got != c.want {
			t.Errorf("%q, expires %t, %v: %q, want %q", c.key, c.expires, c.answer, got, c.want)
		}
	}
}

func TestModelOfBatches(t *testing.T) {
	missing := func(k spi.Key) condition { return condition{key: k, missing: true} }
	version := func(k, from spi.Key, back int) condition { return condition{key: k, from: from, back: back} }
	applied := func(now spi.Millis, versions ...spi.PutVersion) spi.Applied {
		return spi.Applied{PutVersions: versions, StoreNow: now}
	}
	given := func(c ...condition) writeStep { return writeStep{conditions: c} }
	for _, c := range []struct {
		step   writeStep
		answer spi.WriteResult
		want   string
	}{
		{given(missing("b"), missing("d"), version("a", "a", 0)), applied(100), ""},
		{given(missing("b")), spi.Conflict{StoreNow: 100}, "L4.missing"},
		{given(missing("a")), applied(100), "L4.missing"},
		{given(missing("a")), applied(1000), ""}, // expired by then
		{given(missing("a")), spi.Conflict{StoreNow: 999}, ""},
		{given(version("a", "a", 0)), spi.Conflict{StoreNow: 100}, "L4.version"},
		{given(version("a", "a", 0)), applied(1000), "L4.version"},
		{given(version("a", "a", 1)), applied(100), "L4.version"}, // never issued
		{given(version("a", "b", 0)), applied(100), ""},           // the same text
		{given(version("b", "b", 0)), applied(100), "L4.version"},
		{given(version("b", "b", 0), version("a", "a", 0)), spi.Conflict{StoreNow: 100}, ""},
		{put("a", "y"), spi.Conflict{StoreNow: 100}, "L4.put"},
		{writeStep{mutations: []mutation{{key: "d", delete: true}}}, spi.Conflict{StoreNow: 100}, "L4.delete"},
		{writeStep{mutations: []mutation{{key: "d", delete: true}}}, applied(100), ""},
		{writeStep{mutations: []mutation{{key: "a", delete: true}}}, applied(100, spi.PutVersion{Key: "a", Version: "v2"}),
			"L4.applied"},
		{put("a", "y"), applied(100), "L4.applied"},
		{put("a", "y"), applied(100, spi.PutVersion{Key: "a", Version: "v2"}, spi.PutVersion{Key: "a", Version: "v2"}),
			"L4.applied"},
		{put("a", "y"), applied(100, spi.PutVersion{Key: "a", Version: "v1"}), "L3.version-fresh"},
		{put("b", "y"), applied(100, spi.PutVersion{Key: "b", Version: "v1"}), "L3.version-fresh"}, // deleted, and yet
		{put("a", "y"), applied(100, spi.PutVersion{Key: "a", Version: ""}), "L3.version-form"},
		{put("a", "y"), applied(100, spi.PutVersion{Key: "a", Version: spi.Version(strings.Repeat("v", 4097))}),
			"L3.version-form"},
		{put("a", "y"), applied(90, spi.PutVersion{Key: "a", Version: "v2"}), "L3.store-now"},
	} {
		w := holding(t, true)
		if got := requirement(w.wrote(w.request(c.step), at(w, c.answer))); got != c.want {
			t.Errorf("%s, %v: %q, want %q", c.step, c.answer, got, c.want)
		}
	}
}

func TestModelOfConflictsThatChangeSomething(t *testing.T) {
	w := holding(t, false)
	step := writeStep{[]condition{{key: "b", from: "b"}}, []mutation{{key: "a", delete: true}, {key: "b", value: text("z")}}}
	if err := w.wrote(w.request(step), spi.Conflict{StoreNow: 100}); err != nil {
		t.Fatal(err)
	}
	if got := requirement(w.saw("a", spi.Missing{StoreNow: 100})); got != "L4.all-or-nothing" {
		t.Errorf("a deleted by a conflict: %q", got)
	}
	if got := requirement(w.saw("b", spi.Found{Value: spi.Value{Bytes: []byte("z"), Version: "v9"},
		StoreNow: 100})); got != "L4.all-or-nothing" {
		t.Errorf("b put by a conflict: %q", got)
	}
}

// A snapshot of a, b and c in pages, while a changes and c is deleted.
func TestModelOfScans(t *testing.T) {
	item := func(key spi.Key, version spi.Version) spi.Item {
		return spi.Item{Key: key, Value: spi.Value{Bytes: []byte("x"), Version: version}}
	}
	next := spi.Cursor("next")
	page := func(more bool, items ...spi.Item) spi.Page {
		p := spi.Page{Items: items, StoreNow: 100}
		if more {
			p.Next = &next
		}
		return p
	}
	for _, c := range []struct {
		name          string
		first, second spi.ScanResult
		want          string
	}{
		{"as it was", page(true, item("ka", "1")), page(false, item("kb", "1"), item("kc", "1")), ""},
		{"in another order", page(true, item("kc", "1")), page(false, item("kb", "1"), item("ka", "1")), ""},
		{"more than the limit", page(true), page(false, item("ka", "1"), item("kb", "1"), item("kc", "1")), "L5.limit"},
		{"overwritten since", page(true, item("kb", "1")), page(false, item("ka", "2"), item("kc", "1")), "L5.snapshot"},
		{"deleted since", page(true, item("kb", "1")), page(false, item("ka", "1")), "L5.snapshot"},
		{"put since", page(true, item("kb", "1")), page(false, item("ka", "1"), item("kd", "1")), "L5.snapshot"},
		{"unchanged, but left out", page(true, item("ka", "1")), page(false, item("kc", "1")), "L5.complete"},
		{"twice", page(true, item("ka", "1")), page(false, item("ka", "1"), item("kb", "1")), "L5.complete"},
		{"another prefix", page(true, item("ka", "1")), page(false, item("other", "1")), "L5.prefix"},
		{"gone at once", page(true, item("ka", "1")), spi.Expired{}, "L5.snapshot"},
		{"expired first page", spi.Expired{}, nil, "L5.expired"},
		{"empty cursor", spi.Page{Items: []spi.Item{item("ka", "1")}, Next: new(spi.Cursor), StoreNow: 100}, nil, "L5.cursor"},
	} {
		w := newWorld(100)
		apply := func(s writeStep, versions ...spi.PutVersion) {
			if err := w.wrote(w.request(s), spi.Applied{PutVersions: versions, StoreNow: 100}); err != nil {
				t.Fatal(err)
			}
		}
		for _, k := range []spi.Key{"ka", "kb", "kc", "other"} {
			apply(put(k, "x"), spi.PutVersion{Key: k, Version: "1"})
		}
		err := w.opened(scanStep{"s", "k", 2}, false, c.first)
		if err == nil {
			apply(put("ka", "x"), spi.PutVersion{Key: "ka", Version: "2"})
			apply(put("kd", "x"), spi.PutVersion{Key: "kd", Version: "1"})
			apply(writeStep{mutations: []mutation{{key: "kc", delete: true}}})
			err = w.turned(w.snapshots["s"], 2, c.second)
		}
		if got := requirement(err); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Of five scans that are open at once, a provider may give up all but the newest.
func TestModelOfManyScans(t *testing.T) {
	next := spi.Cursor("next")
	w := newWorld(100)
	for open, name := range []string{"s1", "s2", "s3", "s4", "s5"} {
		if err := w.opened(scanStep{name, "", 1}, false, spi.Page{Next: &next, StoreNow: 100}); err != nil {
			t.Fatal(err)
		}
		if got, want := w.snapshots["s1"].crowded, open == 4; got != want {
			t.Errorf("with %d scans open, the first may be gone: %v, want %v", open+1, got, want)
		}
	}
	if got := requirement(w.turned(w.snapshots["s1"], 1, spi.Expired{})); got != "" {
		t.Errorf("the oldest of five: %q", got)
	}
	if got := requirement(w.turned(w.snapshots["s5"], 1, spi.Expired{})); got != "L5.snapshot" {
		t.Errorf("the newest of five: %q", got)
	}
}

// A later page tells its own time or that of the first page, and no other.
func TestModelOfPageTimes(t *testing.T) {
	next := spi.Cursor("next")
	for now, want := range map[spi.Millis]string{100: "", 105: "L3.store-now", 198: "L3.store-now", 199: "", 200: "", 210: ""} {
		w := newWorld(100)
		if err := w.opened(scanStep{"s", "", 1}, false, spi.Page{Next: &next, StoreNow: 100}); err != nil {
			t.Fatal(err)
		}
		if err := w.saw("k", at(w, spi.Missing{StoreNow: 200})); err != nil {
			t.Fatal(err)
		}
		if got := requirement(w.turned(w.snapshots["s"], 1, at(w, spi.Page{StoreNow: now}))); got != want {
			t.Errorf("a page at %d: %q, want %q", now, got, want)
		}
	}
}

func TestModelOfBlobs(t *testing.T) {
	const r = spi.Reference("r")
	// r holds "x" from 100 until 1100.
	slow := harness.Bracket{Before: 200, After: 240} // an operation on a busy machine
	for _, c := range []struct {
		name string
		do   func(*world) error
		want string
	}{
		{"stored over another", func(w *world) error {
			return w.stored(r, []byte("x"), 9, at(w, spi.Stored{ExpiresAt: 209, StoreNow: 200}))
		}, "R4.put"},
		{"stored after expiry", func(w *world) error {
			return w.stored(r, []byte("y"), 9, at(w, spi.Stored{ExpiresAt: 2009, StoreNow: 2000}))
		}, ""},
		{"wrong expiry", func(w *world) error {
			return w.stored("q", []byte("x"), 1000, at(w, spi.Stored{ExpiresAt: 1202, StoreNow: 200}))
		}, "R3.expiry-clock"},
		{"the same", func(w *world) error {
			return w.stored(r, []byte("x"), 9, at(w, spi.AlreadyStored{ExpiresAt: 1100, StoreNow: 200}))
		}, ""},
		{"the same, shortened", func(w *world) error {
			return w.stored(r, []byte("x"), 9, at(w, spi.AlreadyStored{ExpiresAt: 209, StoreNow: 200}))
		}, "R4.put-keeps"},
		{"the same, extended", func(w *world) error { // only a SHOULD
			return w.stored(r, []byte("x"), 5000, at(w, spi.AlreadyStored{ExpiresAt: 5200, StoreNow: 200}))
		}, ""},
		{"other bytes", func(w *world) error {
			return w.stored(r, []byte("xx"), 9, at(w, spi.AlreadyStored{ExpiresAt: 1100, StoreNow: 200}))
		}, "R4.put-compare"},
		{"conflict with the same", func(w *world) error {
			return w.stored(r, []byte("x"), 9, at(w, spi.Conflict{StoreNow: 200}))
		}, "R4.put"},
		{"conflict with none", func(w *world) error { return w.stored("q", []byte("x"), 9, at(w, spi.Conflict{StoreNow: 200})) },
			"R4.put"},
		{"found", func(w *world) error {
			return w.sawBlob(r, at(w, spi.BlobFound{Bytes: []byte("x"), ExpiresAt: 1101, StoreNow: 200}))
		}, ""},
		{"found other bytes", func(w *world) error {
			return w.sawBlob(r, at(w, spi.BlobFound{Bytes: []byte("y"), ExpiresAt: 1100, StoreNow: 200}))
		}, "R3.payload-bytes"},
		{"found expired", func(w *world) error {
			return w.sawBlob(r, at(w, spi.BlobFound{Bytes: []byte("x"), ExpiresAt: 1100, StoreNow: 1102}))
		}, "R4.read"},
		{"found at the expiry", func(w *world) error {
			return w.sawBlob(r, at(w, spi.BlobFound{Bytes: []byte("x"), ExpiresAt: 1100, StoreNow: 1100}))
		}, ""},
		{"missing at the expiry", func(w *world) error { return w.sawBlob(r, at(w, spi.Missing{StoreNow: 1100})) }, ""},
		{"missing before it may be", func(w *world) error { return w.sawBlob(r, at(w, spi.Missing{StoreNow: 1098})) }, "R4.read"},
		{"remaining time and time asked apart", func(w *world) error {
			w.during = slow
			return w.sawBlob(r, spi.BlobFound{Bytes: []byte("x"), ExpiresAt: 1140, StoreNow: 240})
		}, ""},
		{"expiry read beyond the bracket", func(w *world) error {
			w.during = slow
			return w.sawBlob(r, spi.BlobFound{Bytes: []byte("x"), ExpiresAt: 1143, StoreNow: 200})
		}, "R4.read"},
		{"expiry beyond the bracket", func(w *world) error {
			w.during = slow
			return w.stored("q", []byte("x"), 500, spi.Stored{ExpiresAt: 742, StoreNow: 200})
		}, "R3.expiry-clock"},
		{"missing too early", func(w *world) error { return w.sawBlob(r, at(w, spi.Missing{StoreNow: 1000})) }, "R4.read"},
		{"missing", func(w *world) error { return w.sawBlob(r, at(w, spi.Missing{StoreNow: 1101})) }, ""},
		{"found deleted", func(w *world) error {
			w.removed(r)
			return w.sawBlob(r, at(w, spi.BlobFound{Bytes: []byte("x"), ExpiresAt: 1100, StoreNow: 200}))
		}, "R4.delete"},
		{"renewed", func(w *world) error { return w.renewed(r, 500, at(w, spi.Renewed{ExpiresAt: 700, StoreNow: 200})) }, ""},
		{"renewed for less", func(w *world) error {
			return w.renewed(r, 5000, at(w, spi.Renewed{ExpiresAt: 1100, StoreNow: 200}))
		}, "R4.renew"},
		{"renewed what is gone", func(w *world) error {
			return w.renewed(r, 500, at(w, spi.Renewed{ExpiresAt: 2500, StoreNow: 2000}))
		}, "R4.renew"},
		{"not renewed", func(w *world) error { return w.renewed(r, 500, at(w, spi.Missing{StoreNow: 200})) }, "R4.renew"},
		{"clock that goes back", func(w *world) error { return w.sawBlob(r, at(w, spi.Missing{StoreNow: 50})) }, "R3.store-now"},
	} {
		w := newWorld(100)
		if err := w.stored(r, []byte("x"), 1000, at(w, spi.Stored{ExpiresAt: 1100, StoreNow: 100})); err != nil {
			t.Fatal(err)
		}
		if got := requirement(c.do(w)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// In the milliseconds in which a payload may expire, as widened by the bracket
// of the operation that stored it, both answers are right; each says what may
// follow.
func TestModelOfBlobsThatExpire(t *testing.T) {
	const r = spi.Reference("r")
	x := []byte("x")
	found := func(expires, now spi.Millis) spi.BlobFound {
		return spi.BlobFound{Bytes: x, ExpiresAt: expires, StoreNow: now}
	}
	missing := func(now spi.Millis) spi.Missing { return spi.Missing{StoreNow: now} }
	already := func(expires, now spi.Millis) spi.AlreadyStored {
		return spi.AlreadyStored{ExpiresAt: expires, StoreNow: now}
	}
	stored := func(now spi.Millis) spi.Stored { return spi.Stored{ExpiresAt: now + 1000, StoreNow: now} }
	renewed := func(now spi.Millis) spi.Renewed { return spi.Renewed{ExpiresAt: now + 1000, StoreNow: now} }
	for _, c := range []struct {
		name    string
		answers []any // each from an operation at its own time
		want    string
	}{
		// Stored from 100 to 150 for a second, with a time of 100.
		{"found as Redis took it", []any{found(1150, 1140)}, ""},
		{"found later", []any{found(1153, 1140)}, "R4.read"},
		{"found earlier", []any{found(1047, 1000)}, "R4.read"},
		{"missing before", []any{missing(1048)}, "R4.read"},
		{"missing", []any{missing(1049)}, ""},
		{"found after it was missing", []any{missing(1100), found(1102, 1102)}, "R4.read"},
		{"missing after it was found", []any{found(1150, 1140), missing(1148)}, "R4.read"},
		{"found though it has ended, as it says", []any{found(1100, 1102)}, "R4.read"},
		{"stored", []any{stored(1100), found(2100, 1101)}, ""},
		{"stored before", []any{stored(1048)}, "R4.put"},
		{"renewed", []any{renewed(1151), found(2151, 1200)}, ""},
		{"renewed after", []any{renewed(1152)}, "R4.renew"},
		{"already stored and found", []any{already(1100, 1100), found(1101, 1101)}, ""},
		{"already stored and lost", []any{already(1100, 1100), missing(1101)}, "R4.put"},
		{"already stored, lost and stored", []any{already(1100, 1100), stored(1101)}, "R4.put"},
		{"already stored, lost and not renewed", []any{already(1100, 1100), nil, missing(5000)}, "R4.put"},
		{"already stored, and then it ended", []any{already(1101, 1100), missing(1102)}, ""},
		{"already stored and extended", []any{already(2100, 1100), missing(1200)}, "R4.read"},
		{"already stored after", []any{already(1152, 1152)}, "R4.put"},
	} {
		w := newWorld(100)
		w.during.After = 150
		if err := w.stored(r, x, 1000, spi.Stored{ExpiresAt: 1100, StoreNow: 100}); err != nil {
			t.Fatal(err)
		}
		var err error
		for _, answer := range c.answers {
			switch a := at(w, answer).(type) {
			case spi.Stored:
				err = w.stored(r, x, 1000, a)
			case spi.AlreadyStored:
				err = w.stored(r, x, 1000, a)
			case spi.Renewed:
				err = w.renewed(r, 1000, a)
			case spi.BlobFound:
				err = w.sawBlob(r, a)
			case spi.Missing:
				err = w.sawBlob(r, a)
			}
		}
		if got := requirement(err); got != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, got, c.want, err)
		}
	}
}

// A store time is one of the operation.
func TestModelOfStoreTimes(t *testing.T) {
	for now, want := range map[spi.Millis]string{98: "L3.store-now", 99: "", 130: "", 151: "", 152: "L3.store-now"} {
		w := newWorld(100)
		w.during.After = 150
		if got := requirement(w.saw("k", spi.Missing{StoreNow: now})); got != want {
			t.Errorf("%d: %q, want %q", now, got, want)
		}
	}
}

// A scan that took ten seconds since its first page was asked for may be gone.
func TestModelOfOldScans(t *testing.T) {
	next := spi.Cursor("next")
	for now, want := range map[spi.Millis]string{10_099: "L5.snapshot", 10_100: ""} {
		w := newWorld(100)
		w.during.After = 5_000
		if err := w.opened(scanStep{"s", "", 1}, false, spi.Page{Next: &next, StoreNow: 5_000}); err != nil {
			t.Fatal(err)
		}
		w.during = harness.Bracket{Before: 9_000, After: now}
		if got := requirement(w.turned(w.snapshots["s"], 1, spi.Expired{})); got != want {
			t.Errorf("at %d: %q, want %q", now, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	s := span{100, 110}
	for _, c := range []struct {
		retention spi.Retention
		want      span
		ok        bool
	}{
		{1, span{101, 111}, true},
		{1.5, span{101, 112}, true},
		{1e-300, span{101, 111}, true},
		{1e15 + 0.5, span{1e15 + 100, 1e15 + 111}, true},
		{1 << 52, span{1<<52 + 100, 1<<52 + 110}, true},
		{1 << 60, span{1<<60 - 256 + 100, 1<<60 + 256 + 110}, true},
		{1<<63 - 1024, span{1<<63 - 1024 - 2048 + 100, math.MaxInt64}, true},
		{1 << 63, span{}, false},
		{1e300, span{}, false},
	} {
		if got, ok := s.after(c.retention); ok != c.ok || ok && got != c.want {
			t.Errorf("%v: %+v, %t, want %+v, %t", float64(c.retention), got, ok, c.want, c.ok)
		}
	}
}

func TestRefusals(t *testing.T) {
	for ms, want := range map[spi.Retention]refusal{
		-1e300: due, -1: due, 0: due, -5e-324: due, 5e-324: allowed, 0.001: wrong, 0.5: wrong, 1 << 31: wrong, mustKeep: wrong,
		mustKeep + 1: allowed, 1 << 63: allowed, 1e300: allowed,
	} {
		if got := refusalOf(1000, ms); got != want {
			t.Errorf("%v: %d, want %d", float64(ms), got, want)
		}
	}
}

// A fraction leaves open which of two milliseconds it is; the first answer
// that tells it settles it.
func TestModelOfFractions(t *testing.T) {
	kept := func() *world {
		w := newWorld(100)
		s := put("a", "x")
		s.mutations[0].retention = spi.For(10.5)
		if err := w.wrote(w.request(s), spi.Applied{PutVersions: []spi.PutVersion{{Key: "a", Version: "1"}},
			StoreNow: 100}); err != nil {
			t.Fatal(err)
		}
		return w
	}
	found := func(expires, now spi.Millis) spi.ReadResult {
		return spi.Found{Value: spi.Value{Bytes: []byte("x"), Version: "1", ExpiresAt: expires}, StoreNow: now}
	}
	missing := func(now spi.Millis) spi.ReadResult { return spi.Missing{StoreNow: now} }
	for _, c := range []struct {
		answers []spi.ReadResult
		want    string
	}{
		{[]spi.ReadResult{found(110, 105), found(110, 109), missing(110)}, ""},
		{[]spi.ReadResult{found(111, 110), missing(111)}, ""},
		{[]spi.ReadResult{found(110, 105), found(111, 105)}, "L3.expiry-clock"},
		{[]spi.ReadResult{found(110, 110)}, "L3.expiry-clock"},
		{[]spi.ReadResult{found(109, 105)}, "L3.expiry-clock"},
		{[]spi.ReadResult{missing(110), found(111, 110)}, "L3.expired-missing"},
		{[]spi.ReadResult{missing(109)}, "L3.expiry-clock"},
		{[]spi.ReadResult{found(111, 111)}, "L3.expired-missing"},
	} {
		w := kept()
		var err error
		for _, a := range c.answers {
			err = w.saw("a", at(w, a))
		}
		if got := requirement(err); got != c.want {
			t.Errorf("%v: %q, want %q", c.answers, got, c.want)
		}
	}
	w := kept()
	missingA := spi.WriteRequest{Conditions: []spi.Condition{spi.MissingCondition{Key: "a"}}}
	for _, answer := range []spi.WriteResult{spi.Conflict{StoreNow: 110}, spi.Applied{StoreNow: 110}} {
		if err := w.wrote(missingA, at(w, answer)); err != nil {
			t.Errorf("%T where the value may have expired: %v", answer, err)
		}
	}
}

func TestShrinkFindsTheTwoLinesThatMatter(t *testing.T) {
	script := mix{write: 5, read: 5, scan: 1, next: 2, rest: 1, keys: fewKeys,
		retentions: lasting}.random(rand.New(rand.NewPCG(1, 1)), 60)
	script[20] = line{step: writeStep{conditions: []condition{{key: "q", missing: true}}, mutations: []mutation{
		{key: "a", value: text("long")}, {key: "q", value: data{length: 500, seed: 1}, retention: spi.For(hour)}}}}
	script[41] = line{step: readStep{"q"}}
	puts := func(s Script, key spi.Key) int {
		for i, l := range s {
			if w, ok := l.step.(writeStep); ok {
				for _, m := range w.mutations {
					if m.key == key && !m.delete {
						return i
					}
				}
			}
		}
		return len(s)
	}
	runs := 0
	small := shrink(script.tidied(), 500, func(s Script) bool {
		runs++
		for i, l := range s {
			if l.step == step(readStep{"q"}) && puts(s, "q") < i {
				return true
			}
		}
		return false
	})
	if got, want := small.String(), "write do put q \"x\"\nread q\n"; got != want {
		t.Errorf("shrunk to\n%s\nwant\n%s", got, want)
	}
	if runs > 500 {
		t.Errorf("%d runs, allowed are 500", runs)
	}
}

// Random scripts are written and read back the same.
func TestRandomScriptsRoundTrip(t *testing.T) {
	for i, s := range sequences {
		script := s.mix.random(rand.New(rand.NewPCG(uint64(i), 1)), 300)
		again, err := ParseScript(script.String())
		if err != nil {
			t.Fatalf("%s: %v", s.slug, err)
		}
		if fmt.Sprint([]line(again)) != fmt.Sprint([]line(script)) {
			t.Errorf("%s: a script is not what was read back", s.slug)
		}
	}
}

// Histories of two clients on one register.
func TestHistories(t *testing.T) {
	write := func(expected, value string, o outcome) (input, output) {
		return input{kind: writing, effects: []effect{{checked: true, expected: expected, changed: true, value: value}}},
			output{outcome: o}
	}
	read := func(value string) (input, output) { return input{kind: reading}, output{values: values{value}} }
	type call struct {
		in   input
		out  output
		from int64
		to   int64
	}
	of := func(in input, out output) func(from, to int64) call {
		return func(from, to int64) call { return call{in, out, from, to} }
	}
	for _, c := range []struct {
		name  string
		calls []call
		want  porcupine.CheckResult
	}{
		{"one after the other", []call{of(write("", "x", applied))(0, 1), of(read("x"))(2, 3)}, porcupine.Ok},
		{"stale read", []call{of(write("", "x", applied))(0, 1), of(read(""))(2, 3)}, porcupine.Illegal},
		{"read beside the write", []call{of(write("", "x", applied))(0, 3), of(read(""))(1, 2)}, porcupine.Ok},
		{"both claim", []call{of(write("", "x", applied))(0, 3), of(write("", "y", applied))(1, 2)}, porcupine.Illegal},
		{"one claims", []call{of(write("", "x", applied))(0, 3), of(write("", "y", conflict))(1, 2)}, porcupine.Ok},
		{"nobody claims", []call{of(write("", "x", conflict))(0, 3), of(write("", "y", conflict))(1, 2)}, porcupine.Illegal},
		{"lost and applied", []call{of(write("", "x", unknown))(0, never), of(read("x"))(5, 6)}, porcupine.Ok},
		{"lost and never applied", []call{of(write("", "x", unknown))(0, never), of(read(""))(5, 6)}, porcupine.Ok},
		{"lost and applied late", []call{of(write("", "x", unknown))(0, never), of(read(""))(5, 6), of(read("x"))(7, 8)},
			porcupine.Ok},
		{"lost, applied and undone", []call{of(write("", "x", unknown))(0, never), of(read("x"))(5, 6), of(read(""))(7, 8)},
			porcupine.Illegal},
	} {
		h := newHistory()
		for i, o := range c.calls {
			h.record(i, o.in, o.from, o.out, o.to)
		}
		if got := porcupine.CheckOperationsTimeout(registerModel(true), h.operations, 0); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestVersionsOfHistories(t *testing.T) {
	h := newHistory()
	for _, c := range []struct {
		key     spi.Key
		value   string
		version spi.Version
		want    string
	}{
		{"r0", "1", "v1", ""}, {"r0", "1", "v1", ""}, {"r1", "1", "v1", ""},
		{"r0", "2", "v1", "L3.version-fresh"}, {"r0", "1", "v2", "L4.applied"},
	} {
		if got := requirement(h.versioned(c.key, c.value, c.version)); got != c.want {
			t.Errorf("%q %q %q: %q, want %q", c.key, c.value, c.version, got, c.want)
		}
	}
}
