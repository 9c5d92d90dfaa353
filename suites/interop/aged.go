package interop

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// agedCases: a scan that one provider opened meets the clean-up of the other,
// which comes due later, on a server whose clock can be moved.
func agedCases() []harness.Case {
	var cases []harness.Case
	for _, age := range []time.Duration{2 * time.Second, 30 * time.Second} {
		cases = append(cases, bothWays(locationCase, fmt.Sprintf("snapshot/aged-%.0fs", age.Seconds()),
			fmt.Sprintf("An open scan of one provider survives the clean-up that the other does %v later.", age),
			snapshotRule+" L5.snapshot", func(t *harness.T, one, other party) { aged(t, age, one, other) })...)
	}
	return cases
}

func aged(t *harness.T, age time.Duration, one, other party) {
	s := t.Server(redisenv.ServerOptions{Clock: true})
	one, other = one.on(s), other.on(s)
	want := seed(snapshotRule, one, other, 9)
	first := one.page(snapshotRule, spi.ScanRequest{Prefix: "p/", Limit: 2})
	change := func() {
		other.put(snapshotRule, "p/03", "new", nil)
		other.put(snapshotRule, "p/04", "new", spi.For(500))
		other.delete(snapshotRule, "p/05", "p/06")
		other.put(snapshotRule, "p/06", "again", nil)
		one.delete(snapshotRule, "p/07")
	}
	change()
	err := s.SetClock(t.Context(), age)
	var unavailable *redisenv.Unavailable
	if errors.As(err, &unavailable) {
		t.Skipf("%s", unavailable.Reason)
	}
	if err != nil {
		t.Troublef("the clock of the server did not move: %v", err)
	}
	for i := range 24 { // a provider may clean up a little at a time
		other.put(snapshotRule, spi.Key(fmt.Sprint("z", i)), "other", nil)
	}
	other.scan(snapshotRule, "z")
	change()

	// The reference keeps a snapshot for a minute; a target may give its own up
	// sooner.
	items, page := first.Items, first
	for page.Next != nil {
		r, err := one.location().Scan(t.Context(), spi.ScanRequest{Prefix: "p/", Cursor: page.Next, Limit: 2})
		if _, gone := r.(spi.Expired); gone && one.provider == t.Target() && age > 10*time.Second {
			t.Notef("the target gave its snapshot up, which it may")
			return
		}
		page = answer[spi.Page](one, snapshotRule, fmt.Sprintf("continuing a scan %v after its first page", age), r, err)
		items = append(items, page.Items...)
	}
	slices.SortStableFunc(items, func(a, b spi.Item) int { return strings.Compare(string(a.Key), string(b.Key)) })
	t.Equal(snapshotRule, fmt.Sprintf("the scan that %s opened %v before %s cleaned up", one.name, age, other.name), want, items)
}
