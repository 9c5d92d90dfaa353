package interop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// scanCases: scans show the records of both (L9.interop-scan).
func scanCases() []harness.Case {
	const requirement = "L9.interop-scan"
	return slices.Concat(
		bothWays(harness.Case{
			ID: "interop/scan/finds", Title: "A scan of one provider shows exactly the live records, whoever wrote, overwrote and deleted them.",
			Requirements: []string{requirement}, Needs: location,
		}, func(t *harness.T, one, other party) {
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
		bothWays(harness.Case{
			ID: "interop/scan/keys", Title: "A scan of one provider shows keys with any characters as the other put them.",
			Requirements: []string{requirement}, Needs: location,
		}, func(t *harness.T, one, other party) {
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
		bothWays(harness.Case{
			ID: "interop/scan/expired", Title: "A scan of one provider does not show what the other put with a retention that is over.",
			Requirements: []string{requirement, "L5.complete"}, Needs: location,
		}, func(t *harness.T, one, other party) {
			other.put(requirement, "p/brief", "v", spi.For(60))
			v := other.put(requirement, "p/long", "v", spi.For(hour))
			want := []spi.Item{{Key: "p/long", Value: other.find(requirement, "p/long").Value}}
			t.Checkf(want[0].Value.Version == v, requirement, "%s reads another version than it issued", other.name)
			awaitExpiry(t, other, "p/brief")
			t.Equal(requirement, "the scan by "+one.name, want, one.scan(requirement, "p/"))
		}),
		bothWays(harness.Case{
			ID: "interop/scan/cas", Title: "A version that a scan of one provider shows of the other's record is a condition in both.",
			Requirements: []string{"L5.cas", requirement}, Needs: location,
		}, func(t *harness.T, one, other party) {
			other.put("L5.cas", "a", "v", nil)
			other.put("L5.cas", "b", "v", nil)
			items := one.scan("L5.cas", "")
			if len(items) != 2 {
				t.Fatalf(requirement, "the scan shows %d records, expected 2", len(items))
			}
			one.apply("L5.cas", given(set("a", "w"), version("a", items[0].Value.Version)))
			other.apply("L5.cas", given(set("b", "w"), version("b", items[1].Value.Version)))
			one.conflict("L5.cas", given(set("b", "never"), version("b", items[1].Value.Version)))
		}),
		bothWays(harness.Case{
			ID: "interop/scan/foreign-cursor", Title: "A cursor of one provider is a normal result in the other: Expired, or a page of the snapshot.",
			Requirements: []string{"L5.expired"}, Needs: location,
		}, func(t *harness.T, one, other party) {
			want := seed("L5.expired", one, other, 6)
			first := one.page("L5.expired", spi.ScanRequest{Prefix: "p/", Limit: 2})
			if first.Next == nil {
				t.Fatalf("L5.complete", "the first page of 6 records with limit 2 is the last one")
			}
			r, err := other.provider.Location().Scan(t.Context(), spi.ScanRequest{Prefix: "p/", Cursor: first.Next, Limit: 10})
			t.Checkf(err == nil, "L5.expired", "%s failed at a cursor of %s: %v", other.name, one.name, err)
			if page, ok := r.(spi.Page); ok {
				for _, item := range page.Items {
					t.Checkf(slices.ContainsFunc(want, func(w spi.Item) bool { return w.Key == item.Key && w.Value.Version == item.Value.Version }),
						"L5.expired", "%s shows %q at a cursor of %s, which is not in the snapshot", other.name, item.Key, one.name)
				}
			}
			t.Equal("L9.interop-snapshot", "the snapshot after its cursor was given to the other provider", want, one.finish("L9.interop-snapshot", "p/", 2, first))
		}),
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
		_, gone := p.provider.Location().MustRead(key).(spi.Missing)
		return gone
	})
}

// snapshotCases: a scan that one provider opened, while the other writes
// (L9.interop-snapshot).
func snapshotCases() []harness.Case {
	var cases []harness.Case
	for _, d := range disturbances {
		cases = append(cases, bothWays(harness.Case{
			ID: "interop/snapshot/" + d.name, Title: "An open scan of one provider stays whole while the other " + d.title + ".",
			Requirements: []string{"L9.interop-snapshot", "L5.snapshot"}, Needs: location,
		}, func(t *harness.T, one, other party) {
			want := seed("L9.interop-snapshot", one, other, 9)
			if d.before != nil {
				want = d.before(t, one, other, want)
			}
			first := one.page("L9.interop-snapshot", spi.ScanRequest{Prefix: "p/", Limit: 2})
			// On a slow machine the brief record is over before the scan begins.
			want = slices.DeleteFunc(want, func(i spi.Item) bool {
				return i.Value.ExpiresAt != spi.NoExpiry && i.Value.ExpiresAt <= first.StoreNow
			})
			d.during(t, one, other)
			t.Equal("L9.interop-snapshot", "the scan that "+one.name+" opened before "+other.name+" wrote", want, one.finish("L9.interop-snapshot", "p/", 2, first))
		})...)
	}
	return cases
}

const snapshotRule = "L9.interop-snapshot"

// disturbances are what the other provider does between the first page and the
// next. The first two records may be on the first page already.
var disturbances = []struct {
	name, title string
	before      func(t *harness.T, one, other party, items []spi.Item) []spi.Item // nil: nothing
	during      func(t *harness.T, one, other party)
}{
	{name: "overwrites", title: "overwrites every record", during: func(t *harness.T, one, other party) {
		for i := range 9 {
			other.put(snapshotRule, spi.Key(fmt.Sprintf("p/%02d", i)), "new", nil)
		}
	}},
	{name: "deletes", title: "deletes every record", during: func(t *harness.T, one, other party) {
		for i := range 9 {
			other.delete(snapshotRule, spi.Key(fmt.Sprintf("p/%02d", i)))
		}
	}},
	{name: "batch", title: "deletes, overwrites and adds in one batch", during: func(t *harness.T, one, other party) {
		other.apply(snapshotRule, spi.WriteRequest{Mutations: []spi.Mutation{
			spi.Delete{Key: "p/03"}, spi.Delete{Key: "p/08"}, set("p/04", "new"), set("p/045", "added"), set("p/9", "added"),
		}})
	}},
	{name: "hot-key", title: "overwrites one record 300 times", during: func(t *harness.T, one, other party) {
		for i := range 300 {
			other.put(snapshotRule, "p/06", fmt.Sprint(i), nil)
		}
	}},
	{name: "double-deletes", title: "deletes a record twice, puts and deletes it again", during: func(t *harness.T, one, other party) {
		for range 2 {
			other.delete(snapshotRule, "p/05")
			other.delete(snapshotRule, "p/05")
			other.put(snapshotRule, "p/05", "again", nil)
		}
		other.delete(snapshotRule, "p/05", "p/06")
	}},
	{name: "both-write", title: "and itself write in turn", during: func(t *harness.T, one, other party) {
		for i := range 60 {
			key := spi.Key(fmt.Sprintf("p/%02d", i%9))
			p := []party{one, other}[i%2]
			if i%7 == 6 {
				p.delete(snapshotRule, key)
				continue
			}
			p.put(snapshotRule, key, fmt.Sprint("new ", i), nil)
		}
	}},
	{name: "recreated", title: "puts again what was deleted before", before: func(t *harness.T, one, other party, items []spi.Item) []spi.Item {
		one.delete(snapshotRule, "p/04")
		other.delete(snapshotRule, "p/07")
		return slices.DeleteFunc(items, func(i spi.Item) bool { return i.Key == "p/04" || i.Key == "p/07" })
	}, during: func(t *harness.T, one, other party) {
		other.put(snapshotRule, "p/04", "again", nil)
		one.put(snapshotRule, "p/07", "again", nil)
		other.put(snapshotRule, "p/07", "and again", nil)
	}},
	{name: "expiry", title: "writes after a record of the snapshot has expired", before: func(t *harness.T, one, other party, items []spi.Item) []spi.Item {
		const retention = 300
		a := other.apply(snapshotRule, given(spi.Put{Key: "p/05", Bytes: []byte("brief"), Retention: spi.For(retention)}))
		items[5].Value = spi.Value{Bytes: []byte("brief"), Version: a.PutVersions[0].Version, ExpiresAt: a.StoreNow + retention}
		return items
	}, during: func(t *harness.T, one, other party) {
		awaitExpiry(t, one, "p/05")
		for i := range 30 {
			other.put(snapshotRule, spi.Key(fmt.Sprintf("p/%02d", i%5)), "new", nil)
		}
		other.delete(snapshotRule, "p/05")
	}},
	{name: "own-scans", title: "opens, abandons and finishes scans of its own and writes between", during: func(t *harness.T, one, other party) {
		for i := range 6 {
			page := other.page(snapshotRule, spi.ScanRequest{Prefix: "p/", Limit: 2})
			other.put(snapshotRule, "p/06", fmt.Sprint("new ", i), nil)
			other.delete(snapshotRule, "p/07")
			if i%2 == 0 {
				other.finish(snapshotRule, "p/", 2, page)
			}
			other.put(snapshotRule, "p/07", fmt.Sprint("new ", i), nil)
			other.put(snapshotRule, "p/08", fmt.Sprint("new ", i), nil)
		}
	}},
}

// mixedCases: a longer life of both on one prefix.
func mixedCases() []harness.Case {
	return []harness.Case{
		{
			ID: "interop/snapshot/two-open", Title: "Scans that both providers opened at different times each show the records of their own first page.",
			Requirements: []string{snapshotRule, "L5.snapshot"}, Needs: location, Run: twoOpen,
		},
		{
			ID: "interop/mixed/random", Title: "After random writes by both providers both read and scan what a simple model says.",
			Requirements: []string{"L9.interop-read", "L9.interop-scan"}, Needs: location, Run: mixed,
		},
	}
}

func twoOpen(t *harness.T) {
	ps := parties(t)
	want := seed(snapshotRule, ps[0], ps[1], 9)
	type open struct {
		p     party
		page  spi.Page
		items []spi.Item
	}
	var scans []open
	for i := range 4 {
		p := ps[i%2]
		scans = append(scans, open{p, p.page(snapshotRule, spi.ScanRequest{Prefix: "p/", Limit: 2}), slices.Clone(want)})
		for k := 3; k < 9; k++ {
			writer, value := ps[(i+k)%2], fmt.Sprintf("round %d", i)
			for range 3 {
				want[k].Value = spi.Value{Bytes: []byte(value), Version: writer.put(snapshotRule, want[k].Key, value, nil)}
			}
		}
	}
	for _, i := range []int{2, 0, 3, 1} { // neither first in, first out nor the reverse
		s := scans[i]
		t.Equal(snapshotRule, fmt.Sprintf("scan %d, which %s opened,", i, s.p.name), s.items, s.p.finish(snapshotRule, "p/", 2, s.page))
	}
	t.Equal("L9.interop-scan", "a new scan at the end", want, ps[0].scan("L9.interop-scan", "p/"))
}

func mixed(t *harness.T) {
	const requirement = "L9.interop-read"
	ps, model := parties(t), map[spi.Key]spi.Value{}
	for i := range 150 {
		p := ps[t.Rand().IntN(2)]
		key := spi.Key(fmt.Sprintf("p/%d", t.Rand().IntN(8)))
		current, there := model[key]
		condition := missing(key)
		if there {
			condition = version(key, current.Version)
		}
		switch t.Rand().IntN(5) {
		case 0:
			p.apply(requirement, given(spi.Delete{Key: key}, condition))
			delete(model, key)
		case 1:
			p.conflict(requirement, given(set(key, "never"), version(key, "no such version")))
		case 2:
			p.page(requirement, spi.ScanRequest{Prefix: "p/", Limit: 1}) // opened and abandoned
		default:
			value := fmt.Sprint("value ", i)
			a := p.apply(requirement, given(set(key, value), condition))
			model[key] = spi.Value{Bytes: []byte(value), Version: a.PutVersions[0].Version}
		}
	}
	var want []spi.Item
	for key, value := range model {
		want = append(want, spi.Item{Key: key, Value: value})
	}
	slices.SortFunc(want, func(a, b spi.Item) int { return strings.Compare(string(a.Key), string(b.Key)) })
	for _, p := range ps {
		for key, value := range model {
			p.same(requirement, key, value)
		}
		t.Equal("L9.interop-scan", "the scan by "+p.name, want, p.scan("L9.interop-scan", "p/"))
	}
}
