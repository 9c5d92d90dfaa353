package interop

import (
	"fmt"
	"slices"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// snapshotCases: a scan that one provider opened, while the other writes
// (L9.interop-snapshot).
func snapshotCases() []harness.Case {
	var cases []harness.Case
	for _, d := range disturbances {
		cases = append(cases, bothWays(locationCase, "snapshot/"+d.name,
			"An open scan of one provider stays whole while the other "+d.title+".", "L9.interop-snapshot L5.snapshot",
			func(t *harness.T, one, other party) {
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
				t.Equal("L9.interop-snapshot", "the scan that "+one.name+" opened before "+other.name+" wrote", want,
					one.finish("L9.interop-snapshot", "p/", 2, first))
			})...)
	}
	cases = append(cases, agedCases()...)
	return append(cases, locationCase("snapshot/two-open",
		"Scans that both providers opened at different times each show the records of their own first page.",
		snapshotRule+" L9.interop-scan", twoOpen))
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
		other.apply(snapshotRule, write(nil, del("p/03"), del("p/08"), put("p/04", "new"), put("p/045", "added"),
			put("p/9", "added")))
	}},
	{name: "hot-key", title: "overwrites one record 300 times", during: func(t *harness.T, one, other party) {
		for i := range 300 {
			other.put(snapshotRule, "p/06", fmt.Sprint(i), nil)
		}
	}},
	{name: "double-deletes", title: "deletes a record twice, puts and deletes it again",
		during: func(t *harness.T, one, other party) {
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
	{name: "recreated", title: "puts again what was deleted before",
		before: func(t *harness.T, one, other party, items []spi.Item) []spi.Item {
			one.delete(snapshotRule, "p/04")
			other.delete(snapshotRule, "p/07")
			return slices.DeleteFunc(items, func(i spi.Item) bool { return i.Key == "p/04" || i.Key == "p/07" })
		}, during: func(t *harness.T, one, other party) {
			other.put(snapshotRule, "p/04", "again", nil)
			one.put(snapshotRule, "p/07", "again", nil)
			other.put(snapshotRule, "p/07", "and again", nil)
		}},
	{name: "expiry", title: "writes after a record of the snapshot has expired",
		before: func(t *harness.T, one, other party, items []spi.Item) []spi.Item {
			const retention = 300
			a := other.apply(snapshotRule, write(nil, putFor("p/05", "brief", retention)))
			items[5].Value = spi.Value{Bytes: []byte("brief"), Version: a.PutVersions[0].Version,
				ExpiresAt: a.StoreNow + retention}
			return items
		}, during: func(t *harness.T, one, other party) {
			awaitExpiry(t, one, "p/05")
			for i := range 30 {
				other.put(snapshotRule, spi.Key(fmt.Sprintf("p/%02d", i%5)), "new", nil)
			}
			other.delete(snapshotRule, "p/05")
		}},
	{name: "own-scans", title: "opens, abandons and finishes scans of its own and writes between",
		during: func(t *harness.T, one, other party) {
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
		t.Equal(snapshotRule, fmt.Sprintf("scan %d, which %s opened,", i, s.p.name), s.items,
			s.p.finish(snapshotRule, "p/", 2, s.page))
	}
	t.Equal("L9.interop-scan", "a new scan at the end", want, ps[0].scan("L9.interop-scan", "p/"))
}
