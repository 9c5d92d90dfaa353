package reference_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

const ns = prefix + ":{zlink-location-v3}:opaque:"

// L5.prefix: byte for byte, no glob, in pages of any size.
func TestScanPrefix(t *testing.T) {
	f := start(t, redistest.Start(t))
	keys := []string{"a", "a*", "a*b", "ab", "A", "a\x00", "a\x00\x00", "ü", "üb", "u", "\U0010FFFFx", "[a]",
		strings.Repeat("z", 1024)}
	var mutations []spi.Mutation
	for _, key := range keys {
		mutations = append(mutations, spi.Put{Key: spi.Key(key), Bytes: []byte("v")})
	}
	f.apply(mutations...)
	slices.Sort(keys)
	for _, p := range []string{"", "a", "a*", "a\x00", "ü", "\u00c3", "\U0010FFFF", "[a]", "x", strings.Repeat("z", 1024),
		strings.Repeat("z", 1023)} {
		var want []string
		for _, key := range keys {
			if strings.HasPrefix(key, p) {
				want = append(want, key+"=v")
			}
		}
		for _, limit := range []int{1, 2, 1000} {
			if diff := cmp.Diff(want, f.scanAll(p, limit)); diff != "" {
				t.Errorf("prefix %q, limit %d: %s", p, limit, diff)
			}
		}
	}
}

// L5.snapshot: another instance overwrites, deletes, recreates and adds, and
// cleanup runs, while a scan is open.
func TestSnapshotSurvives(t *testing.T) {
	f := start(t, redistest.StartCluster(t))
	var mutations []spi.Mutation
	var want []string
	for i := range 20 {
		mutations = append(mutations, spi.Put{Key: numbered("k", 10+i), Bytes: []byte("old")})
		want = append(want, fmt.Sprintf("k%d=old", 10+i))
	}
	f.apply(mutations...)
	f.apply(spi.Put{Key: "k99-gone", Bytes: []byte("x")})
	f.apply(spi.Delete{Key: "k99-gone"})
	got, cursor := f.page("k", nil, 3)

	other := &fixture{t: t, options: f.options, redis: f.redis, location: openLocation(t, f.options)}
	other.put("k98-new", "new")
	for round := range 3 {
		for i := range 20 {
			if i%2 == 0 {
				other.put(numbered("k", 10+i), fmt.Sprint("new", round))
			} else {
				other.apply(spi.Delete{Key: numbered("k", 10+i)})
				other.apply(spi.Delete{Key: numbered("k", 10+i)})
			}
			other.due(ns)
		}
	}
	got = append(got, f.rest("k", cursor, 3)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// A page can be read again, by another instance too.
	if diff := cmp.Diff(want[3:], other.rest("k", cursor, 1000)); diff != "" {
		t.Error(diff)
	}
	if now := f.scanAll("k", 1000); len(now) != 11 || slices.Contains(now, "k10=old") {
		t.Errorf("a new scan shows %q", now)
	}
}

// L4.burst: the history of a hot key under an open snapshot is bounded.
func TestHotKeyUnderSnapshot(t *testing.T) {
	f := start(t, redistest.Start(t))
	f.put("a", "1")
	f.put("hot", "first")
	_, cursor := f.page("", nil, 1)
	for i := range 300 {
		f.put("hot", fmt.Sprint(i))
	}
	if n := f.redis.ZCard(context.Background(), layout.RecordKey(prefix, "hot")).Val(); n != 2 {
		t.Errorf("the record holds %d members, want the snapshot's and the current one", n)
	}
	if got := f.rest("", cursor, 1); !slices.Equal(got, []string{"hot=first"}) {
		t.Errorf("the snapshot shows %q", got)
	}
}

// L5.expired, and a wrong prefix does not damage the snapshot.
func TestCursors(t *testing.T) {
	f := start(t, redistest.Start(t))
	f.apply(spi.Put{Key: "a1"}, spi.Put{Key: "a2"}, spi.Put{Key: "a3"})
	_, cursor := f.page("a", nil, 1)
	if n := len(*cursor); n < 1 || n > 4096 {
		t.Errorf("the cursor is %d bytes long", n)
	}
	foreign := f.options
	foreign.KeyPrefix = "elsewhere"
	elsewhere := openLocation(t, foreign)
	expired := func(name, p string, l spi.LocationStore, c spi.Cursor) {
		result, err := l.Scan(context.Background(), spi.ScanRequest{Prefix: p, Cursor: &c, Limit: 1})
		if _, ok := result.(spi.Expired); !ok || err != nil {
			t.Errorf("%s: %v, %v; want Expired", name, result, err)
		}
	}
	text := string(*cursor)
	expired("malformed", "a", f.location, "?")
	expired("no UTF-8", "a", f.location, "\xff")
	expired("long", "a", f.location, spi.Cursor(strings.Repeat("A", 4096)))
	expired("cut", "a", f.location, spi.Cursor(text[:len(text)-1]))
	expired("longer", "a", f.location, spi.Cursor(text+"A"))
	expired("other last character", "a", f.location, spi.Cursor(text[:len(text)-1]+"_"))
	expired("other first character", "a", f.location, spi.Cursor("_"+text[1:]))
	expired("wrong prefix", "b", f.location, *cursor)
	expired("other key prefix", "a", elsewhere, *cursor)
	if got := f.rest("a", cursor, 1); len(got) != 2 {
		t.Errorf("the snapshot is damaged: %q", got)
	}
	keys := f.redis.Keys(context.Background(), "*:scan:*").Val()
	if len(keys) != 1 {
		t.Fatalf("%d open snapshots, want 1", len(keys))
	}
	if ttl := f.redis.PTTL(context.Background(), keys[0]).Val().Milliseconds(); ttl < 1 || ttl > 60000 {
		t.Errorf("the snapshot lives %d ms more", ttl)
	}
	f.redis.Del(context.Background(), keys[0])
	expired("snapshot gone", "a", f.location, *cursor)
}

// L5.page-bytes: four records of a MiB do not fit, with their keys, in a page.
func TestPageBytes(t *testing.T) {
	f := start(t, redistest.Start(t))
	for i := range 5 {
		f.put(numbered("k", i), strings.Repeat("v", 1<<20))
	}
	items, cursor := f.page("", nil, 1000)
	if len(items) != 3 {
		t.Errorf("the first page holds %d items, want 3", len(items))
	}
	if rest := f.rest("", cursor, 1000); len(rest) != 2 {
		t.Errorf("the other pages hold %d items, want 2", len(rest))
	}
}

// L3.expired-missing at the snapshot's time: a record that expires during a
// scan is shown as of the first page, one that had expired is not.
func TestScanAndExpiry(t *testing.T) {
	f := start(t, redistest.Start(t))
	f.apply(spi.Put{Key: "a", Bytes: []byte("v"), Retention: spi.For(1)}, spi.Put{Key: "b"})
	f.passed(f.clock() + 1)
	f.apply(spi.Put{Key: "c", Bytes: []byte("v"), Retention: spi.For(1000)})
	_, cursor := f.page("", nil, 1)
	f.passed(f.read("c").(spi.Found).Value.ExpiresAt)
	f.due(ns)
	f.put("d", "")
	if got := f.rest("", cursor, 1); !slices.Equal(got, []string{"c=v"}) {
		t.Errorf("got %q, want c as of the first page", got)
	}
	if got := f.scanAll("", 10); !slices.Equal(got, []string{"b=", "d="}) {
		t.Errorf("a new scan shows %q", got)
	}
}

func TestScanPassesManyTombstones(t *testing.T) {
	f := start(t, redistest.Start(t))
	for batch := range 2 {
		var puts, deletes []spi.Mutation
		for i := range 2000 {
			puts = append(puts, spi.Put{Key: numbered("k", batch*2000+i)})
			deletes = append(deletes, spi.Delete{Key: numbered("k", batch*2000+i)})
		}
		f.apply(puts...)
		f.apply(deletes...)
	}
	f.put("z", "end")
	if got := f.scanAll("", 1); !slices.Equal(got, []string{"z=end"}) {
		t.Errorf("got %q", got)
	}
}

// Cleanup: tombstones and long expired records go when no snapshot needs them;
// abandoned snapshots and broken rows never stop it.
func TestCleanup(t *testing.T) {
	f := start(t, redistest.Start(t))
	ctx := context.Background()
	exists := func(key string) bool { return f.redis.Exists(ctx, layout.RecordKey(prefix, key)).Val() == 1 }
	minuteAgo := f.clock() - 61000
	expired := func(key string) {
		f.put(spi.Key(key), "v")
		member := layout.EncodeMember(nil, layout.Member{Key: key, Value: []byte("v"), Version: key, ExpiresAt: minuteAgo})
		f.redis.ZAdd(ctx, layout.RecordKey(prefix, key),
			redis.Z{Score: float64(f.redis.Incr(ctx, ns+"sequence").Val()), Member: member})
		f.redis.ZAdd(ctx, ns+"cleanup", redis.Z{Score: 1, Member: key})
	}
	f.put("deleted", "v")
	f.put("kept", "v")
	_, cursor := f.page("", nil, 1)
	f.apply(spi.Delete{Key: "deleted"}, spi.Put{Key: "recent", Bytes: []byte("v"), Retention: spi.For(1)})
	f.due(ns)
	f.put("kept", "w")
	if !exists("deleted") {
		t.Error("a tombstone went under a snapshot that shows what it deleted")
	}
	if got := f.rest("", cursor, 10); !slices.Equal(got, []string{"kept=v"}) {
		t.Errorf("the snapshot shows %q", got)
	}

	// The snapshot is abandoned: its time is over.
	f.redis.ZAddXX(ctx, ns+"snapshot-expiry", redis.Z{Score: 1, Member: f.redis.ZRange(ctx, ns+"snapshot-expiry", 0, 0).Val()[0]})
	expired("expired")
	f.redis.ZAdd(ctx, ns+"cleanup", redis.Z{Score: 1, Member: "no map row"}, redis.Z{Score: 1, Member: "outside"},
		redis.Z{Score: 1, Member: "no record"})
	f.redis.HSet(ctx, ns+"map", "outside", "kept-by-somebody-else", "no record", layout.RecordKey(prefix, "no record"))
	f.redis.Set(ctx, "kept-by-somebody-else", "x", 0)
	f.due(ns)
	if result, err := f.location.Scan(ctx, spi.ScanRequest{Prefix: "kept", Limit: 10}); err != nil {
		t.Error(result, err)
	}
	for key, want := range map[string]bool{"deleted": false, "expired": false, "recent": true, "kept": true} {
		if exists(key) != want {
			t.Errorf("the record of %q exists: %v, want %v", key, !want, want)
		}
	}
	if got := f.redis.ZRange(ctx, ns+"cleanup", 0, -1).Val(); !slices.Equal(got, []string{"recent"}) {
		t.Errorf("rows of cleanup: %q, want the recently expired one", got)
	}
	if got := f.redis.ZRange(ctx, ns+"index", 0, -1).Val(); !slices.Equal(got, []string{"kept", "recent"}) {
		t.Errorf("the index holds %q", got)
	}
	if n := f.redis.ZCard(ctx, ns+"snapshot-expiry").Val() + f.redis.ZCard(ctx, ns+"snapshot-boundary").Val(); n != 0 {
		t.Errorf("%d rows of abandoned snapshots", n)
	}
	if n := f.redis.ZCard(ctx, layout.RecordKey(prefix, "kept")).Val(); n != 1 {
		t.Errorf("the kept record has %d members", n)
	}
	if f.redis.Exists(ctx, "kept-by-somebody-else").Val() != 1 {
		t.Error("cleanup followed a map row out of the namespace")
	}
}
