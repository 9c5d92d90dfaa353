package resilience

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// keptFor is how long a scan is kept to its end at least (L5.snapshot).
const keptFor = spi.Millis(10_000)

// lease is the retention of the records that expire while scans are open.
const lease = 4 * time.Second

// aging is a store on a Redis whose clock can be moved: what must be in it by
// the answers of the target, and the scans that are open on it.
type aging struct {
	*clocked
	store     harness.Store
	providers []*harness.Provider
	rule      string              // that a scan which is not whole breaks
	clients   []*harness.Location // who take turns
	turn      int
	live      map[spi.Key]state   // as they were put; a lease may be over
	past      map[spi.Key][]state // all that was put, the latest last
	names     []spi.Key           // of all records that ever were
	puts      int
	scans     []*openScan
}

// openScan is a scan of which the first page was read.
type openScan struct {
	name         string
	by           *harness.Location
	want, either map[spi.Key]state // either: in the millisecond of its expiry at the first page
	began        spi.Millis
	page         spi.Page
	items        []spi.Item
}

// newAging is a store with an instance of each of the providers.
func newAging(c *clocked, name string, providers ...*harness.Provider) *aging {
	a := &aging{clocked: c, rule: "L5.snapshot", providers: providers, live: map[spi.Key]state{}, past: map[spi.Key][]state{}}
	a.store = harness.Store{Server: c.server, KeyPrefix: c.t.NewKeyPrefix(name)}
	for _, p := range providers {
		a.clients = append(a.clients, p.OpenLocation(a.store))
	}
	return a
}

// next is the client whose turn it is.
func (a *aging) next() *harness.Location {
	a.turn++
	return a.clients[a.turn%len(a.clients)]
}

// apply writes a batch and notes what must be there now.
func (a *aging) apply(mutations ...spi.Mutation) {
	l := a.next()
	r, err := l.Write(a.t.Context(), write(nil, mutations...))
	applied, ok := r.(spi.Applied)
	if !ok {
		a.t.Fatalf("L4.put", "a write without conditions answered %s, %v", harness.Describe(r), err)
	}
	versions := map[spi.Key]spi.Version{}
	for _, v := range applied.PutVersions {
		versions[v.Key] = v.Version
	}
	for _, m := range mutations {
		switch m := m.(type) {
		case spi.Delete:
			delete(a.live, m.Key)
		case spi.Put:
			s := state{exists: true, bytes: string(m.Bytes), version: versions[m.Key], expiresAt: spi.NoExpiry}
			if m.Retention != nil { // which expiry it got to the millisecond, the provider says
				s.expiresAt = applied.StoreNow + spi.Millis(*m.Retention)
				if f, ok := l.MustRead(m.Key).(spi.Found); ok {
					s.expiresAt = f.Value.ExpiresAt
				}
			}
			a.live[m.Key], a.past[m.Key] = s, append(a.past[m.Key], s)
			if !slices.Contains(a.names, m.Key) {
				a.names = append(a.names, m.Key)
			}
		}
	}
}

// put is a Put of bytes that no other has.
func (a *aging) put(key spi.Key, retention time.Duration) spi.Put {
	a.puts++
	p := spi.Put{Key: key, Bytes: fmt.Appendf(nil, "value %d", a.puts)}
	if retention > 0 {
		p.Retention = spi.For(float64(retention.Milliseconds()))
	}
	return p
}

// lived are the records that have not expired by a look at the clock before and
// one after; those that do between the two may be live or not.
func (a *aging) lived(before, after spi.Millis) (live, either map[spi.Key]state) {
	live, either = maps.Clone(a.live), map[spi.Key]state{}
	for key, s := range live {
		if s.expiresAt == spi.NoExpiry || s.expiresAt > after+1 {
			continue
		}
		delete(live, key)
		if s.expiresAt >= before-1 {
			either[key] = s
		}
	}
	return live, either
}

// open reads the first page of a scan of all records.
func (a *aging) open(by *harness.Location, limit int) {
	s := &openScan{name: fmt.Sprintf("scan %d", len(a.scans)+1), by: by, began: a.t.NowOf(a.client)}
	r, err := by.Scan(a.t.Context(), spi.ScanRequest{Prefix: "p/", Limit: limit})
	page, ok := r.(spi.Page)
	if !ok {
		a.t.Fatalf(a.rule, "the first page of a scan answered %s, %v", harness.Describe(r), err)
	}
	s.want, s.either = a.lived(s.began, a.t.NowOf(a.client))
	s.page, s.items = page, page.Items
	a.scans = append(a.scans, s)
}

// more reads the next page and says whether another follows. A scan may be
// Expired when it is old, or when something happened to it that excuses it.
func (a *aging) more(s *openScan, limit int, excused bool) bool {
	if s.page.Next == nil {
		return false
	}
	r, err := s.by.Scan(a.t.Context(), spi.ScanRequest{Prefix: "p/", Cursor: s.page.Next, Limit: limit})
	age := a.t.NowOf(a.client) - s.began
	if page, ok := r.(spi.Page); err == nil && ok {
		s.page, s.items = page, append(s.items, page.Items...)
		return page.Next != nil
	}
	if _, gone := r.(spi.Expired); !gone || err != nil {
		a.t.Failf("L5.expired", "%s answered %s, %v to a page that was asked for %d ms after its first one",
			s.name, harness.Describe(r), err, age)
	} else if age < keptFor && !excused {
		a.t.Failf(a.rule, "%s of %d is Expired %d ms after its first page", s.name, len(a.scans), age)
	} else {
		a.t.Notef("%s was given up after %d ms, which it may", s.name, age)
	}
	s.page.Next, s.want = nil, nil
	return false
}

// finish reads a scan to its end, which must show what was live at its first
// page.
func (a *aging) finish(s *openScan, after string, excused bool) {
	for pages := 0; a.more(s, 7, excused); pages++ {
		if pages > len(a.names) {
			a.t.Failf("L5.limit", "%s has not ended after %d pages", s.name, pages)
			return
		}
	}
	if s.want != nil {
		a.judge(a.rule, fmt.Sprintf("%s of %d, %s", s.name, len(a.scans), after), s.items, s.want, s.either)
	}
}

// finishAll reads all open scans to their ends, neither first in, first out
// nor the reverse.
func (a *aging) finishAll(after string) {
	for i := range a.scans {
		a.finish(a.scans[(i*3+2)%len(a.scans)], after, false)
	}
}

// judge compares what a scan showed with what it must show.
func (a *aging) judge(rule, what string, items []spi.Item, want, either map[spi.Key]state) {
	seen := map[spi.Key]bool{}
	var wrong []string
	for _, i := range items {
		got := stateOf(spi.Found{Value: i.Value})
		w := want[i.Key]
		if e, ok := either[i.Key]; ok {
			w = e
		}
		if got != w {
			wrong = append(wrong, fmt.Sprintf("%q as %s, but %s", i.Key, got, w))
		}
		if seen[i.Key] {
			wrong = append(wrong, fmt.Sprintf("%q twice", i.Key))
		}
		seen[i.Key] = true
	}
	for key := range want {
		if !seen[key] {
			wrong = append(wrong, fmt.Sprintf("no %q, which is live", key))
		}
	}
	slices.Sort(wrong)
	a.t.Checkf(len(wrong) == 0, rule, "%s, shows %s", what, firstOf(wrong))
}

// firstOf are the first of the things that are wrong, and how many more.
func firstOf(wrong []string) string {
	const shown = 4
	if len(wrong) > shown {
		wrong = append(wrong[:shown:shown], fmt.Sprintf("%d more", len(wrong)-shown))
	}
	return strings.Join(wrong, "; ")
}

// stir has every client write and scan other records, so that whatever
// clean-up is due is done, a little at a time.
func (a *aging) stir() {
	for i, l := range a.clients {
		for n := range 40 / len(a.clients) {
			r, err := l.Write(a.t.Context(), write(nil, put(spi.Key(fmt.Sprintf("z/%d/%d", i, n)), "other")))
			if _, ok := r.(spi.Applied); !ok {
				a.t.Fatalf("L4.put", "a write of another record answered %s, %v", harness.Describe(r), err)
			}
		}
		r, err := l.Scan(a.t.Context(), spi.ScanRequest{Prefix: "z/", Limit: 1000})
		if _, ok := r.(spi.Page); !ok {
			a.t.Fatalf(a.rule, "a scan of other records answered %s, %v", harness.Describe(r), err)
		}
	}
}
