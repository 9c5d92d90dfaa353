package reference_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Random puts, deletes, cleanup and scans that are open at the same time show
// what a map and copies of it show (L4, L5.snapshot, L5.complete).
func TestAgainstModel(t *testing.T) {
	ctx := context.Background()
	server := redistest.Start(t)
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		options := start(t, server).options
		options.KeyPrefix = fmt.Sprint("run", run)
		f := &fixture{t: t, options: options, redis: redistest.Client(t, server), location: openLocation(t, options)}
		values := map[string]string{}
		show := func() []string {
			var items []string
			for _, key := range slices.Sorted(maps.Keys(values)) {
				items = append(items, key+"="+values[key])
			}
			return items
		}
		type scan struct {
			id     string // empty if the scan fitted in one page
			cursor *spi.Cursor
			want   []string
		}
		expiries := layout.SnapshotExpiryKey(options.KeyPrefix)
		known := map[string]bool{"": true}
		var open []scan
		key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		step := 0
		r.Repeat(map[string]func(*rapid.T){
			"put": func(r *rapid.T) {
				k := key.Draw(r, "key")
				step++
				values[k] = fmt.Sprint(step)
				f.put(spi.Key(k), values[k])
			},
			"delete": func(r *rapid.T) {
				k := key.Draw(r, "key")
				delete(values, k)
				f.apply(spi.Delete{Key: spi.Key(k)})
			},
			"cleanup": func(r *rapid.T) {
				f.due(layout.Namespace(options.KeyPrefix))
			},
			"open": func(r *rapid.T) {
				want := show()
				got, cursor := f.page("", nil, 1)
				if !slices.Equal(got, want[:len(got)]) {
					r.Fatalf("first page %q of %q", got, want)
				}
				opened := scan{cursor: cursor, want: want[len(got):]}
				for _, id := range f.redis.ZRange(ctx, expiries, 0, -1).Val() {
					if !known[id] {
						opened.id, known[id] = id, true
					}
				}
				open = append(open, opened)
			},
			"abandon": func(r *rapid.T) {
				if len(open) == 0 {
					r.Skip("no scan is open")
				}
				at := rapid.IntRange(0, len(open)-1).Draw(r, "scan")
				f.redis.ZAddXX(ctx, expiries, redis.Z{Score: 1, Member: open[at].id})
				open = slices.Delete(open, at, at+1)
			},
			"continue": func(r *rapid.T) {
				if len(open) == 0 {
					r.Skip("no scan is open")
				}
				at := rapid.IntRange(0, len(open)-1).Draw(r, "scan")
				got := f.rest("", open[at].cursor, rapid.IntRange(1, 3).Draw(r, "limit"))
				if !slices.Equal(got, open[at].want) {
					r.Fatalf("a snapshot shows %q, want %q", got, open[at].want)
				}
			},
			"": func(r *rapid.T) {
				if diff := cmp.Diff(show(), f.scanAll("", 10)); diff != "" {
					r.Fatal(diff)
				}
			},
		})
	})
}
