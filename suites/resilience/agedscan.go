package resilience

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// agedScan changes the records of an open scan, lets time pass, and writes
// other keys, so that whatever clean-up has come due meets the history that
// the scan still needs.
func agedScan(t *harness.T, age time.Duration, mayBeGone bool) {
	c := openClock(t, &location, 0)
	l := c.location
	want := map[spi.Key]state{}
	for _, key := range []spi.Key{"a", "b", "c", "d", "e", "f"} {
		retention := map[spi.Key]*spi.Retention{"e": spi.For(1500), "f": spi.For(float64(hour))}[key]
		l.MustPut(key, []byte("old "+string(key)), retention)
		want[key] = stateOf(l.MustFind(key))
	}
	page := l.MustPage(spi.ScanRequest{Limit: 1})
	l.MustPut("b", []byte("new"), nil)
	l.MustDelete("c")
	l.MustDelete("d")
	l.MustPut("d", []byte("again"), nil)
	l.MustDelete("f")
	c.set(age)
	for i := range 24 { // a provider may clean up a little at a time
		l.MustPut(spi.Key(fmt.Sprint("z", i)), []byte("other"), nil)
	}
	l.MustScan("z", 10)

	seen := map[spi.Key]bool{}
	for {
		for _, i := range page.Items {
			w, ok := want[i.Key]
			t.Checkf(ok && !seen[i.Key] && stateOf(spi.Found{Value: i.Value}) == w, "L5.snapshot",
				"%v after its first page a scan shows %.40q as %s, but at its first page %s", age, i.Key,
				stateOf(spi.Found{Value: i.Value}), w)
			seen[i.Key] = true
		}
		if page.Next == nil {
			break
		}
		r, err := l.Scan(t.Context(), spi.ScanRequest{Cursor: page.Next, Limit: 2})
		if err != nil {
			t.Fatalf("L5.expired", "a page that was asked for %v after the first one failed: %v", age, err)
		}
		if _, gone := r.(spi.Expired); gone && mayBeGone {
			t.Notef("the snapshot was given up, which it may")
			return
		}
		next, ok := r.(spi.Page)
		if !ok {
			t.Fatalf("L5.snapshot", "a page that was asked for %v after the first one answered %s", age, harness.Describe(r))
		}
		page = next
	}
	for key := range want {
		t.Checkf(seen[key], "L5.snapshot", "%v after its first page a scan ends without %q, which is in its snapshot", age, key)
	}
}
