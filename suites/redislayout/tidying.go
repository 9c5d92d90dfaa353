package redislayout

import (
	"errors"
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// tidyingCases: unreadable records that the target's own clean-up comes across,
// because it wrote their keys itself (L6.failure-scope).
func tidyingCases() []harness.Case {
	var cases []harness.Case
	for _, age := range []time.Duration{2 * time.Second, 70 * time.Second} {
		cases = append(cases, locationCase(fmt.Sprintf("scope/cleaned-up-%.0fs", age.Seconds()),
			fmt.Sprintf("Unreadable records do not stop writes and scans of other keys whose "+
				"clean-up meets them %v later.", age),
			"L6.failure-scope", func(t *harness.T) { tidiesUnreadable(t, age) }))
	}
	return cases
}

// tidiesUnreadable has the target overwrite, delete and lease the keys first, so
// that each is due for its clean-up, and then lets each become unreadable in
// every way.
func tidiesUnreadable(t *harness.T, age time.Duration) {
	server := t.Server(redisenv.ServerOptions{Clock: true})
	c := t.Client(server)
	l := t.Target().OpenLocation(harness.Store{Server: server})
	keys := raw.At(t, c, t.KeyPrefix())
	bad := func(name string, i int) spi.Key {
		k := spi.Key(fmt.Sprintf("bad/%s-%d", name, i%3))
		l.MustPut(k, []byte("v"), map[bool]*spi.Retention{true: spi.For(1000)}[i%3 == 0])
		switch i % 3 {
		case 1:
			l.MustPut(k, []byte("w"), nil)
		case 2:
			l.MustDelete(k)
		}
		return k
	}
	l.MustPut("good/a", []byte("v"), nil)
	open := l.MustPage(spi.ScanRequest{Prefix: "good/", Limit: 1}) // so that history is kept
	for i := range 3 {
		for _, u := range unreadable {
			keys.Put(bad(u.name, i), u.bytes)
		}
		for _, w := range wrongTypes {
			k := bad(w.name, i)
			if err := c.Del(t.Context(), layout.RecordKey(t.KeyPrefix(), string(k))).Err(); err != nil {
				t.Troublef("removing a record failed: %v", err)
			}
			if err := w.plant(t, c, layout.RecordKey(t.KeyPrefix(), string(k))); err != nil {
				t.Troublef("planting a Redis key of another type failed: %v", err)
			}
		}
	}
	err := server.SetClock(t.Context(), age)
	if u := (*redisenv.Unavailable)(nil); errors.As(err, &u) {
		t.Skipf("%s", u.Reason)
	}
	if err != nil {
		t.Troublef("the clock of the server did not move: %v", err)
	}
	for i := range 60 {
		l.MustPut(spi.Key(fmt.Sprintf("good/%d", i%4)), fmt.Append(nil, i), nil)
		if i%5 == 4 {
			items := l.MustScan("good/", 1000)
			t.Checkf(len(items) == 5, "L6.failure-scope", "a scan beside unreadable records shows %d records, expected 5",
				len(items))
		}
	}
	if age < 10*time.Second {
		items := l.MustFinish("good/", 1, open)
		t.Checkf(len(items) == 1, "L6.failure-scope", "a scan that was open meanwhile shows %d records, expected 1", len(items))
	}
	for i := range 4 {
		t.EqualBytes("L6.failure-scope", "a record beside unreadable ones", fmt.Append(nil, 56+i),
			l.MustFind(spi.Key(fmt.Sprintf("good/%d", i))).Value.Bytes)
	}
	l.MustDelete("good/a")
	l.MustMiss("good/a")
}
