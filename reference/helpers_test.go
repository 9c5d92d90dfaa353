package reference_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/spi"
)

const prefix = "test*?[x]"

func openLocation(t testing.TB, options reference.Options) *reference.Location {
	t.Helper()
	l, err := reference.OpenLocation(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func openRelocation(t testing.TB, options reference.Options) *reference.Relocation {
	t.Helper()
	r, err := reference.OpenRelocation(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// fixture is a server, a plain client and a Location Store on it.
type fixture struct {
	t        testing.TB
	options  reference.Options
	redis    *redis.Client
	location *reference.Location
}

func start(t testing.TB, server *redis.Options) *fixture {
	options := reference.Options{Redis: server, KeyPrefix: prefix}
	return &fixture{t: t, options: options, redis: redistest.Client(t, server), location: openLocation(t, options)}
}

func (f *fixture) write(conditions []spi.Condition, mutations ...spi.Mutation) spi.WriteResult {
	f.t.Helper()
	result, err := f.location.Write(context.Background(), spi.WriteRequest{Conditions: conditions, Mutations: mutations})
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// apply writes without conditions and returns the versions of the puts.
func (f *fixture) apply(mutations ...spi.Mutation) []spi.Version {
	f.t.Helper()
	applied, ok := f.write(nil, mutations...).(spi.Applied)
	if !ok {
		f.t.Fatal("an unconditional write conflicts")
	}
	var versions []spi.Version
	for _, put := range applied.PutVersions {
		versions = append(versions, put.Version)
	}
	return versions
}

func (f *fixture) put(key spi.Key, value string) spi.Version {
	f.t.Helper()
	return f.apply(spi.Put{Key: key, Bytes: []byte(value)})[0]
}

func (f *fixture) read(key spi.Key) spi.ReadResult {
	f.t.Helper()
	result, err := f.location.Read(context.Background(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// value is the live value of a key, or "-" if it is missing.
func (f *fixture) value(key spi.Key) string {
	f.t.Helper()
	if found, ok := f.read(key).(spi.Found); ok {
		return string(found.Value.Bytes)
	}
	return "-"
}

// page reads one page; it returns key=value texts and the cursor.
func (f *fixture) page(scanPrefix string, cursor *spi.Cursor, limit int) ([]string, *spi.Cursor) {
	f.t.Helper()
	result, err := f.location.Scan(context.Background(), spi.ScanRequest{Prefix: scanPrefix, Cursor: cursor, Limit: limit})
	if err != nil {
		f.t.Fatal(err)
	}
	page, ok := result.(spi.Page)
	if !ok {
		f.t.Fatalf("scan answers %T, want a page", result)
	}
	var items []string
	for _, item := range page.Items {
		items = append(items, string(item.Key)+"="+string(item.Value.Bytes))
	}
	return items, page.Next
}

// rest reads all pages from a cursor on.
func (f *fixture) rest(scanPrefix string, cursor *spi.Cursor, limit int) []string {
	f.t.Helper()
	var all []string
	for cursor != nil {
		var items []string
		items, cursor = f.page(scanPrefix, cursor, limit)
		all = append(all, items...)
	}
	return all
}

func (f *fixture) scanAll(scanPrefix string, limit int) []string {
	f.t.Helper()
	items, cursor := f.page(scanPrefix, nil, limit)
	return append(items, f.rest(scanPrefix, cursor, limit)...)
}

// clock is Redis's own time in milliseconds.
func (f *fixture) clock() spi.Millis {
	f.t.Helper()
	now, err := f.redis.Time(context.Background()).Result()
	if err != nil {
		f.t.Fatal(err)
	}
	return spi.Millis(now.UnixMilli())
}

// passed waits until Redis's clock has reached at.
func (f *fixture) passed(at spi.Millis) {
	f.t.Helper()
	for f.clock() < at {
		time.Sleep(time.Millisecond)
	}
}

// due makes every row of cleanup work due at once.
func (f *fixture) due(namespace string) {
	f.t.Helper()
	ctx := context.Background()
	for _, key := range f.redis.ZRange(ctx, namespace+"cleanup", 0, -1).Val() {
		f.redis.ZAdd(ctx, namespace+"cleanup", redis.Z{Score: 1, Member: key})
	}
}

func wantKind(t testing.TB, err error, want spi.ErrorKind) {
	t.Helper()
	if got := spi.KindOf(err); got != want {
		t.Errorf("error %v has kind %q, want %q", err, got, want)
	}
}

func numbered(key string, n int) spi.Key { return spi.Key(key + strconv.Itoa(n)) }
