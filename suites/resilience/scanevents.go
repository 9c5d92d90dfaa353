package resilience

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// event is what happens to one of several open scans or beside them, and leaves
// the others alone.
type event struct {
	slug, title string
	scans       int                    // that are open at once
	happen      func(a *aging, at int) // to the scan at the place
	over        bool                   // the scan can't be read any more
	gone        bool                   // nor can its client be used
	excused     bool                   // the scan may be Expired
}

var events = []event{
	{slug: "finished", title: "another is read to its end", scans: scansAtOnce, over: true,
		happen: func(a *aging, at int) { a.finish(a.scans[at], "read before the others", false) }},
	{slug: "closed", title: "the instance of another is closed", scans: scansAtOnce, over: true, gone: true,
		happen: func(a *aging, at int) {
			if err := a.clients[at].Close(); err != nil {
				a.t.Failf("L7.dispose", "closing an instance with an open scan failed: %v", err)
			}
		}},
	// With the three that are open, it leaves no more than four at once.
	{slug: "beside", title: "a new instance opens, finishes and leaves scans", scans: scansAtOnce - 1,
		happen: func(a *aging, _ int) {
			for n := range 3 {
				l := a.t.Target().OpenLocation(a.store)
				page := l.MustPage(spi.ScanRequest{Prefix: "p/", Limit: 2})
				if n < 2 {
					l.MustFinish("p/", 1000, page)
				}
				_ = l.Close()
			}
		}},
	{slug: "wrong-prefix", title: "one was continued with another prefix", scans: scansAtOnce, excused: true,
		happen: func(a *aging, at int) {
			for _, prefix := range []string{"", "p", "p/o", "z/", "P/", "p/\x00", strings.Repeat("p", spi.MaxPrefixBytes)} {
				a.meddle(at, spi.ScanRequest{Prefix: prefix, Limit: 1000})
			}
		}},
	{slug: "refused", title: "one was continued with a limit or a prefix that is refused", scans: scansAtOnce,
		happen: func(a *aging, at int) {
			a.meddle(at, spi.ScanRequest{Prefix: "p/", Limit: 0})
			a.meddle(at, spi.ScanRequest{Prefix: "p/", Limit: spi.MaxScanLimit + 1})
			a.meddle(at, spi.ScanRequest{Prefix: strings.Repeat("p", spi.MaxPrefixBytes+1), Limit: 1})
		}},
	{slug: "elsewhere", title: "the cursor of one was tried on a store with another key prefix", scans: scansAtOnce,
		happen: func(a *aging, at int) {
			for _, p := range []*harness.Provider{a.t.Target(), a.providers[at]} {
				l := p.OpenLocation(harness.Store{Server: a.server, KeyPrefix: a.store.KeyPrefix + "-elsewhere"})
				_, _ = l.Scan(a.t.Context(), spi.ScanRequest{Prefix: "p/", Cursor: a.scans[at].page.Next, Limit: 1})
				l.MustPut("p/new", []byte("v"), nil)
			}
		}},
}

// meddle continues a scan by its own client and by another, with a request that
// shows nothing of what follows. What that answers is judged elsewhere.
func (a *aging) meddle(at int, request spi.ScanRequest) {
	s := a.scans[at]
	if request.Cursor = s.page.Next; request.Cursor == nil {
		return
	}
	for _, l := range []*harness.Location{s.by, a.clients[(at+1)%len(a.clients)]} {
		_, _ = l.Scan(a.t.Context(), request)
	}
}

func scanEventCases() []harness.Case {
	var cases []harness.Case
	for _, e := range events {
		cases = append(cases, locationCase("cleanup/scan-"+e.slug,
			"Open scans stay whole when "+e.title+", all that they show is overwritten twice and clean-up comes due.",
			"L5.snapshot L5.expired L5.limit L7.dispose L4.put", func(t *harness.T) { scanEvent(t, e) }))
	}
	return cases
}

// scanEvent makes the event happen to each of the scans in turn, on a store for
// each, and the scan is that of another process each time.
func scanEvent(t *harness.T, e event) {
	c := openClock(t, &location, 0)
	worlds := make([]*aging, e.scans)
	for at := range worlds {
		process := t.Another()
		providers := slices.Repeat([]*harness.Provider{t.Target()}, e.scans)
		providers[at] = process
		a := newAging(c, fmt.Sprint("at-", at), providers...)
		worlds[at] = a
		a.openAll(e.scans)
		e.happen(a, at)
		if e.gone {
			a.clients = slices.Delete(a.clients, at, at+1)
		}
		for range 2 {
			var again []spi.Mutation
			for _, name := range a.names {
				again = append(again, a.put(name, 0))
			}
			a.apply(again...)
		}
	}
	c.set(1500 * time.Millisecond)
	for at, a := range worlds {
		a.stir()
		for i, s := range a.scans {
			if i != at || !e.over {
				a.finish(s, "after "+e.title, e.excused && i == at)
			}
		}
	}
}
