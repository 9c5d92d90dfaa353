package interop

import (
	"fmt"
	"slices"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// scanCases: scans show the records of both (L9.interop-scan).
func scanCases() []harness.Case {
	const requirement = "L9.interop-scan"
	return slices.Concat(
		bothWays(locationCase, "scan/finds", "A scan of one provider shows exactly the live records, whoever wrote, "+
			"overwrote and deleted them.", requirement, func(t *harness.T, one, other party) {
			want := seed(requirement, one, other, 12)
			other.put(requirement, "p/gone", "v", nil)
			one.delete(requirement, "p/gone")
			one.put(requirement, "p/gone too", "v", nil)
			other.delete(requirement, "p/gone too")
			other.put(requirement, "q", "beside the prefix", nil)
			items := one.finish(requirement, "p/", 5, one.page(requirement, spi.ScanRequest{Prefix: "p/", Limit: 5}))
			t.Equal(requirement, "the scan by "+one.name, want, items)
			t.Equal(requirement, "the scan by "+other.name, want, other.scan(requirement, "p/"))
		}),
		bothWays(locationCase, "scan/keys", "A scan of one provider shows keys with any characters as the other put them.",
			requirement, func(t *harness.T, one, other party) {
				var want, got []spi.Key
				for _, key := range oddKeys {
					other.put(requirement, key, "v", nil)
					want = append(want, key)
				}
				for _, item := range one.scan(requirement, "") {
					got = append(got, item.Key)
				}
				slices.Sort(want)
				t.Equal(requirement, "the keys that the scan shows", want, got)
			}),
		bothWays(locationCase, "scan/expired", "A scan of one provider does not show what the other put with a "+
			"retention that is over.", requirement+" L5.complete", func(t *harness.T, one, other party) {
			other.put(requirement, "p/brief", "v", spi.For(60))
			v := other.put(requirement, "p/long", "v", spi.For(hour))
			want := []spi.Item{{Key: "p/long", Value: other.find(requirement, "p/long").Value}}
			t.Checkf(want[0].Value.Version == v, requirement, "%s reads another version than it issued", other.name)
			awaitExpiry(t, other, "p/brief")
			t.Equal(requirement, "the scan by "+one.name, want, one.scan(requirement, "p/"))
		}),
		bothWays(locationCase, "scan/cas", "A version that a scan of one provider shows of the other's record "+
			"is a condition in both.", "L5.cas "+requirement, func(t *harness.T, one, other party) {
			other.put("L5.cas", "a", "v", nil)
			other.put("L5.cas", "b", "v", nil)
			items := one.scan("L5.cas", "")
			if len(items) != 2 {
				t.Fatalf(requirement, "the scan shows %d records, expected 2", len(items))
			}
			one.apply("L5.cas", write(given(ifVersion("a", items[0].Value.Version)), put("a", "w")))
			other.apply("L5.cas", write(given(ifVersion("b", items[1].Value.Version)), put("b", "w")))
			one.conflict("L5.cas", write(given(ifVersion("b", items[1].Value.Version)), put("b", "never")))
		}),
		about([2]string{"L9.interop-snapshot", "L5.expired"},
			bothWays(locationCase, "scan/foreign-cursor",
				"A cursor of one provider is a normal result in the other: Expired, or a page of the snapshot.",
				"L5.expired L9.interop-snapshot "+requirement, func(t *harness.T, one, other party) {
					want := seed("L5.expired", one, other, 6)
					first := one.page("L5.expired", spi.ScanRequest{Prefix: "p/", Limit: 2})
					if first.Next == nil {
						t.Fatalf(requirement, "the first page of 6 records with limit 2 is the last one")
					}
					r, err := other.provider.Location().Scan(t.Context(),
						spi.ScanRequest{Prefix: "p/", Cursor: first.Next, Limit: 10})
					t.Checkf(err == nil, "L5.expired", "%s failed at a cursor of %s: %v", other.name, one.name, err)
					if page, ok := r.(spi.Page); ok {
						for _, item := range page.Items {
							t.Checkf(slices.ContainsFunc(want, func(w spi.Item) bool {
								return w.Key == item.Key &&
									w.Value.Version == item.Value.Version
							}),
								"L5.expired", "%s shows %q at a cursor of %s, which is not in the snapshot", other.name, item.Key,
								one.name)
						}
						return // it went on with the snapshot, and may have ended it
					}
					t.Equal("L9.interop-snapshot", "the snapshot after the other provider answered Expired to its cursor", want,
						one.finish("L9.interop-snapshot", "p/", 2, first))
				})),
	)
}

// seed lets both providers put n records under p/ in turn, every third of them
// overwritten by the other, and returns them as a scan must show them.
func seed(requirement string, one, other party, n int) []spi.Item {
	ps := []party{one, other}
	var items []spi.Item
	for i := range n {
		key := spi.Key(fmt.Sprintf("p/%02d", i))
		value := fmt.Sprint("value ", i)
		v := ps[i%2].put(requirement, key, value, nil)
		if i%3 == 0 {
			value += " overwritten"
			v = ps[1-i%2].put(requirement, key, value, nil)
		}
		items = append(items, spi.Item{Key: key, Value: spi.Value{Bytes: []byte(value), Version: v}})
	}
	return items
}

func awaitExpiry(t *harness.T, p party, key spi.Key) {
	t.Await("L3.expired-missing", fmt.Sprintf("the expiry of %q", key), 10*time.Second, func() bool {
		_, gone := p.read("L3.expired-missing", key).(spi.Missing)
		return gone
	})
}
