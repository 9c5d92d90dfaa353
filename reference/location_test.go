package reference_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// L2.observation, L3.version-fresh, L4.put, L4.delete, L4.condition-only.
func TestPutReadDelete(t *testing.T) {
	f := start(t, redistest.Start(t))
	for _, key := range []spi.Key{"k", "K", "k\x00", "*?[]{}:", "ü", spi.Key(strings.Repeat("€", 341) + "x"), "%s\r\n"} {
		if got := f.value(key); got != "-" {
			t.Errorf("%q is %q before the first put", key, got)
		}
		seen := map[spi.Version]bool{}
		for _, value := range []string{"one", "", "\x00\xff\r\n", "one"} {
			before := f.clock()
			version := f.put(key, value)
			if seen[version] {
				t.Errorf("version %q was issued twice", version)
			}
			seen[version] = true
			found, ok := f.read(key).(spi.Found)
			if !ok || string(found.Value.Bytes) != value || found.Value.Version != version ||
				found.Value.ExpiresAt != spi.NoExpiry || found.StoreNow < before || found.StoreNow > f.clock() {
				t.Errorf("read of %q after put of %q: %+v", key, value, found)
			}
			f.apply(spi.Delete{Key: key})
			if got := f.value(key); got != "-" {
				t.Errorf("%q is %q after delete", key, got)
			}
			f.apply(spi.Delete{Key: key})
		}
	}
}

func TestConditions(t *testing.T) {
	f := start(t, redistest.Start(t))
	live := f.put("live", "v")
	old := f.put("changed", "v")
	f.put("changed", "w")
	gone := f.put("gone", "v")
	f.apply(spi.Delete{Key: "gone"})
	brief := f.apply(spi.Put{Key: "brief", Bytes: []byte("v"), Retention: spi.For(1)})[0]
	f.passed(f.clock() + 1)
	for _, c := range []struct {
		condition spi.Condition
		holds     bool
	}{
		{spi.MissingCondition{Key: "never"}, true},
		{spi.MissingCondition{Key: "gone"}, true},
		{spi.MissingCondition{Key: "brief"}, true},
		{spi.MissingCondition{Key: "live"}, false},
		{spi.VersionCondition{Key: "live", Expected: live}, true},
		{spi.VersionCondition{Key: "live", Expected: live + "0"}, false},
		{spi.VersionCondition{Key: "changed", Expected: old}, false},
		{spi.VersionCondition{Key: "never", Expected: live}, false},
		{spi.VersionCondition{Key: "gone", Expected: gone}, false},
		{spi.VersionCondition{Key: "brief", Expected: brief}, false},
		{spi.ValueCondition{Key: "live", Expected: []byte("v")}, true},
		{spi.ValueCondition{Key: "live", Expected: []byte("w")}, false},
		{spi.ValueCondition{Key: "live", Expected: []byte("vv")}, false},
		{spi.ValueCondition{Key: "gone", Expected: []byte("")}, false},
		{spi.ValueCondition{Key: "never", Expected: nil}, false},
		{spi.ValueCondition{Key: "brief", Expected: []byte("v")}, false},
	} {
		name := fmt.Sprintf("%T%v", c.condition, c.condition)
		t.Run(name, func(t *testing.T) {
			f := &fixture{t: t, redis: f.redis, location: f.location}
			sequence := f.redis.Get(context.Background(), layout.SequenceKey(prefix)).Val()
			_, applied := f.write([]spi.Condition{spi.MissingCondition{Key: "free"}, c.condition}).(spi.Applied)
			if applied != c.holds {
				t.Errorf("conditions alone: applied %v, want %v", applied, c.holds)
			}
			_, applied = f.write([]spi.Condition{c.condition}, spi.Put{Key: "target", Bytes: []byte(name)}).(spi.Applied)
			if applied != c.holds || (f.value("target") == name) != c.holds {
				t.Errorf("with a put: applied %v, target %q, want %v", applied, f.value("target"), c.holds)
			}
			if after := f.redis.Get(context.Background(), layout.SequenceKey(prefix)).Val(); !c.holds && after != sequence {
				t.Errorf("a conflict moved the sequence from %s to %s", sequence, after)
			}
		})
	}
}

// L4.key-bound, L9.slot: the bounds of a batch on a cluster.
func TestGreatestBatch(t *testing.T) {
	f := start(t, redistest.StartCluster(t))
	var conditions []spi.Condition
	var mutations []spi.Mutation
	for i := range spi.MaxBatchKeys {
		conditions = append(conditions, spi.MissingCondition{Key: numbered("k", i)})
		mutations = append(mutations, spi.Put{Key: numbered("k", i), Bytes: []byte("v")})
	}
	applied, ok := f.write(conditions, mutations...).(spi.Applied)
	if !ok || len(applied.PutVersions) != spi.MaxBatchKeys {
		t.Fatalf("got %T with %d versions", applied, len(applied.PutVersions))
	}
	if _, ok := f.write(conditions[2047:], mutations[:2047]...).(spi.Conflict); !ok {
		t.Error("a false condition does not conflict")
	}
	if got := f.scanAll("k", 1000); len(got) != spi.MaxBatchKeys {
		t.Errorf("the scan shows %d records, want %d", len(got), spi.MaxBatchKeys)
	}
	conditions = append(conditions, spi.MissingCondition{Key: "one more"})
	_, err := f.location.Write(context.Background(), spi.WriteRequest{Conditions: conditions[1:], Mutations: mutations})
	wantKind(t, err, spi.KindArgument)

	var values []spi.Mutation
	for i := range 4 {
		values = append(values, spi.Put{Key: numbered("v", i), Bytes: make([]byte, (4<<20-64<<10)/4-2)})
	}
	f.apply(values...)
	r := openRelocation(t, f.options)
	if _, err := r.Put(context.Background(), "ref", []byte("b"), 1000); err != nil {
		t.Error(err)
	}
}

// L4.retention, L9.expiry-field: fractions, and times that Lua's tostring would
// print with an exponent.
func TestRetention(t *testing.T) {
	f := start(t, redistest.Start(t))
	for _, c := range []struct {
		retention spi.Retention
		ms        spi.Millis // 0: argument error
	}{
		{0.001, 1}, {60000, 60000}, {60000.5, 60001}, {1e14, 1e14}, {1 << 52, 1 << 52},
		{0, 0}, {-1, 0}, {1<<52 + 1, 0}, {spi.Retention(nan()), 0}, {spi.Retention(1 / zero()), 0},
	} {
		put := spi.Put{Key: "k", Bytes: []byte("v"), Retention: &c.retention}
		result, err := f.location.Write(context.Background(), spi.WriteRequest{Mutations: []spi.Mutation{put}})
		if c.ms == 0 {
			wantKind(t, err, spi.KindArgument)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		want := result.(spi.Applied).StoreNow + c.ms
		raw := f.redis.ZRange(context.Background(), layout.RecordKey(prefix, "k"), -1, -1).Val()[0]
		member, err := layout.DecodeMember([]byte(raw))
		if err != nil || member.ExpiresAt != want {
			t.Errorf("retention %v: member %+v, %v; want expiry %d", c.retention, member, err, want)
		}
		if found, ok := f.read("k").(spi.Found); ok && found.Value.ExpiresAt != want {
			t.Errorf("retention %v: expires at %d, want %d", c.retention, found.Value.ExpiresAt, want)
		} else if !ok && c.ms > 1 {
			t.Errorf("retention %v: missing", c.retention)
		}
	}
}

func zero() float64 { return 0 }
func nan() float64  { return zero() / zero() }

// L9.unknown-tag, L6.failure-scope: what another provider would never write.
func TestUnreadableRecords(t *testing.T) {
	f := start(t, redistest.Start(t))
	ctx := context.Background()
	good := layout.Member{Key: "bad", Value: []byte("v"), Version: "1"}
	other := good
	other.Key = "other"
	unversioned := good
	unversioned.Version = ""
	valid := string(layout.EncodeMember(nil, good))
	for name, raw := range map[string]string{
		"unknown tag":      "\x02" + valid[1:],
		"arity":            "\x01\x94" + valid[2:],
		"trailing byte":    valid + "\x00",
		"cut":              valid[:len(valid)-1],
		"bin value":        strings.Replace(valid, "\xa1v", "\xc4\x01v", 1),
		"wide str":         strings.Replace(valid, "\xa1v", "\xd9\x01v", 1),
		"signed expiry":    valid[:len(valid)-2] + "\xd0\x00\xc2",
		"nil tombstone":    valid[:len(valid)-1] + "\xc0",
		"foreign key":      string(layout.EncodeMember(nil, other)),
		"no version":       string(layout.EncodeMember(nil, unversioned)),
		"no ZSET":          "",
		"wide uint":        valid[:len(valid)-2] + "\xcc\x01\xc2",
		"uint beyond 2^63": valid[:len(valid)-2] + "\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xc2",
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{t: t, redis: f.redis, location: f.location}
			f.put("bad", "v")
			f.put("good", "v")
			key := layout.RecordKey(prefix, "bad")
			f.redis.Del(ctx, key)
			if raw == "" {
				f.redis.Set(ctx, key, "x", 0)
			} else {
				f.redis.ZAdd(ctx, key, redis.Z{Score: float64(f.redis.Incr(ctx, layout.SequenceKey(prefix)).Val()), Member: raw})
			}
			f.due(layout.Namespace(prefix))
			before := f.redis.Dump(ctx, key).Val()

			_, err := f.location.Read(ctx, "bad")
			wantKind(t, err, spi.KindStoreFailure)
			for _, condition := range []spi.Condition{
				spi.MissingCondition{Key: "bad"}, spi.VersionCondition{Key: "bad", Expected: "1"},
				spi.ValueCondition{Key: "bad", Expected: []byte("v")},
			} {
				_, err = f.location.Write(ctx, spi.WriteRequest{Conditions: []spi.Condition{condition},
					Mutations: []spi.Mutation{spi.Put{Key: "good", Bytes: []byte("w")}}})
				wantKind(t, err, spi.KindStoreFailure)
			}
			_, err = f.location.Scan(ctx, spi.ScanRequest{Limit: 10})
			wantKind(t, err, spi.KindStoreFailure)
			if got := f.scanAll("goo", 10); !slices.Equal(got, []string{"good=v"}) {
				t.Errorf("the other record's scan shows %q", got)
			}
			if f.redis.Dump(ctx, key).Val() != before || f.value("good") != "v" {
				t.Error("a refused operation changed something")
			}
			f.put("good", "still writable")

			result, err := f.location.Write(ctx, spi.WriteRequest{
				Mutations: []spi.Mutation{spi.Put{Key: "good", Bytes: []byte("w")}, spi.Put{Key: "bad", Bytes: []byte("new")}}})
			if raw == "" {
				wantKind(t, err, spi.KindStoreFailure)
				if f.value("good") != "still writable" {
					t.Error("a failed batch applied a part")
				}
				f.redis.Del(ctx, key)
			} else if _, ok := result.(spi.Applied); !ok || f.value("bad") != "new" {
				t.Errorf("an unconditional put over an unreadable member: %v, %v", result, err)
			}
		})
	}
}

func TestWrongBookkeepingAppliesNothing(t *testing.T) {
	f := start(t, redistest.Start(t))
	ctx := context.Background()
	f.put("k", "v")
	for _, name := range []string{"sequence", "index", "map", "cleanup", "snapshot-expiry", "snapshot-boundary"} {
		key := layout.Namespace(prefix) + name
		f.redis.Rename(ctx, key, key+"-saved")
		f.redis.Set(ctx, key, "x", 0)
		_, err := f.location.Write(ctx, spi.WriteRequest{Mutations: []spi.Mutation{spi.Put{Key: "k", Bytes: []byte("w")}}})
		wantKind(t, err, spi.KindStoreFailure)
		if got := f.value("k"); got != "v" {
			t.Errorf("with a broken %s the value became %q", name, got)
		}
		f.redis.Del(ctx, key)
		f.redis.Rename(ctx, key+"-saved", key)
	}
	f.redis.ZAdd(ctx, layout.RecordKey(prefix, "k"),
		redis.Z{Score: 1e9, Member: layout.EncodeMember(nil, layout.Member{Key: "k", Version: "x"})})
	_, err := f.location.Write(ctx, spi.WriteRequest{Mutations: []spi.Mutation{spi.Put{Key: "k", Bytes: []byte("hidden")}}})
	wantKind(t, err, spi.KindStoreFailure)
}

// L4.isolation, L8.contention: every increment under a version condition counts.
func TestConcurrentCompareAndSet(t *testing.T) {
	f := start(t, redistest.Start(t))
	f.put("n", "0")
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for range writers {
		l := openLocation(t, f.options)
		wg.Go(func() {
			for done := 0; done < each; {
				r, err := l.Read(context.Background(), "n")
				if err != nil {
					t.Error(err)
					return
				}
				v := r.(spi.Found).Value
				n, _ := strconv.Atoi(string(v.Bytes))
				w, err := l.Write(context.Background(), spi.WriteRequest{
					Conditions: []spi.Condition{spi.VersionCondition{Key: "n", Expected: v.Version}},
					Mutations:  []spi.Mutation{spi.Put{Key: "n", Bytes: []byte(strconv.Itoa(n + 1))}},
				})
				if err != nil {
					t.Error(err)
					return
				}
				if _, ok := w.(spi.Applied); ok {
					done++
				}
			}
		})
	}
	wg.Wait()
	if got := f.value("n"); got != "200" {
		t.Errorf("the counter is %s, want 200", got)
	}
}

// L3.result-stable, L6.input-bytes.
func TestBuffers(t *testing.T) {
	f := start(t, redistest.Start(t))
	input := bytes.Repeat([]byte("a"), 100)
	f.apply(spi.Put{Key: "k", Bytes: input})
	copy(input, "bbbb")
	first := f.read("k").(spi.Found).Value.Bytes
	copy(first, "cccc")
	second := f.read("k").(spi.Found).Value.Bytes
	if diff := cmp.Diff(bytes.Repeat([]byte("a"), 100), second); diff != "" {
		t.Error(diff)
	}
}

func TestArguments(t *testing.T) {
	// No server: an argument error starts no I/O.
	l := openLocation(t, reference.Options{Redis: &redis.Options{Addr: "127.0.0.1:1"}})
	long := spi.Key(strings.Repeat("k", 1025))
	put := func(key spi.Key, size int) spi.Mutation { return spi.Put{Key: key, Bytes: make([]byte, size)} }
	for name, request := range map[string]spi.WriteRequest{
		"empty key":     {Mutations: []spi.Mutation{put("", 1)}},
		"long key":      {Mutations: []spi.Mutation{put(long, 1)}},
		"invalid UTF-8": {Mutations: []spi.Mutation{spi.Delete{Key: "\xff"}}},
		"long value":    {Mutations: []spi.Mutation{put("k", 1<<20+1)}},
		"key twice":     {Mutations: []spi.Mutation{put("k", 1), spi.Delete{Key: "k"}}},
		"condition twice": {Conditions: []spi.Condition{spi.MissingCondition{Key: "k"},
			spi.VersionCondition{Key: "k", Expected: "1"}}},
		"empty version": {Conditions: []spi.Condition{spi.VersionCondition{Key: "k"}}},
		"long version": {Conditions: []spi.Condition{
			spi.VersionCondition{Key: "k", Expected: spi.Version(strings.Repeat("1", 4097))}}},
		"long expected value": {Conditions: []spi.Condition{spi.ValueCondition{Key: "k", Expected: make([]byte, 1<<20+1)}}},
		"4 MiB and 1":         {Mutations: []spi.Mutation{put("a", 1<<20), put("b", 1<<20), put("c", 1<<20), put("d", 1<<20-3)}},
		"nil mutation":        {Mutations: []spi.Mutation{nil}},
	} {
		_, err := l.Write(context.Background(), request)
		if spi.KindOf(err) != spi.KindArgument {
			t.Errorf("%s: %v, want an argument error", name, err)
		}
	}
	empty, cursor := spi.Cursor(""), spi.Cursor(strings.Repeat("c", 4097))
	for _, request := range []spi.ScanRequest{
		{Limit: 0}, {Limit: 1001}, {Limit: 1, Prefix: strings.Repeat("p", 1025)}, {Limit: 1, Prefix: "\xff"},
		{Limit: 1, Cursor: &empty}, {Limit: 1, Cursor: &cursor},
	} {
		_, err := l.Scan(context.Background(), request)
		wantKind(t, err, spi.KindArgument)
	}
	_, err := reference.OpenLocation(reference.Options{KeyPrefix: "a{b", Redis: &redis.Options{}})
	wantKind(t, err, spi.KindArgument)
}
