package resilience

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// firstPageCases: scans that begin without a write between them are still
// scans of their own, each with its own time and its own life.
func firstPageCases() []harness.Case {
	const requirements = "L5.snapshot L5.expired L5.limit L4.put"
	return []harness.Case{
		locationCase("cleanup/first-pages-expiry",
			"Of two scans without a write between them, the second shows nothing that expired since the first one.",
			requirements, func(t *harness.T) { firstPages(t, firstPagesExpiry) }),
		locationCase("cleanup/first-pages-end",
			"Of three scans without a write between them, each outlives the end of the others.",
			requirements, func(t *harness.T) { firstPages(t, firstPagesEnd) }),
		locationCase("cleanup/first-pages-life",
			"A scan that begins late in the life of another, without a write between them, lives as long as any.",
			requirements, func(t *harness.T) { firstPages(t, firstPagesLife) }),
	}
}

// firstPages tries the scenario with one instance, with two, and with two
// processes.
func firstPages(t *harness.T, scenario func(c *clocked, a *aging)) {
	another := t.Another()
	for i, providers := range [][]*harness.Provider{{t.Target()}, {t.Target(), t.Target()}, {t.Target(), another}} {
		t.Apart(func() {
			c := openClock(t, &location, 0)
			a := newAging(c, fmt.Sprint("f", i), providers...)
			for n := range 12 {
				key := spi.Key(fmt.Sprintf("p/%02d", n))
				a.apply(a.put(key, map[bool]time.Duration{true: lease}[n%3 == 2]))
			}
			scenario(c, a)
		})
	}
}

// again overwrites everything twice, lets clean-up come due at the offset, and
// has it done.
func (a *aging) again(offset time.Duration) {
	for range 2 {
		for _, name := range a.names {
			a.apply(a.put(name, 0))
		}
	}
	a.set(offset)
	a.stir()
}

func firstPagesExpiry(c *clocked, a *aging) {
	a.open(a.next(), 2)
	c.set(lease + 100*time.Millisecond)
	a.open(a.next(), 2)
	a.open(a.next(), 3)
	a.again(lease + 2*time.Second)
	a.finishAll("opened before or after records expired")
}

func firstPagesEnd(_ *clocked, a *aging) {
	for range 3 {
		a.open(a.next(), 3)
	}
	a.finish(a.scans[1], "read before the others", false)
	a.again(1500 * time.Millisecond)
	a.finish(a.scans[2], "after the second one has ended", false)
	a.finish(a.scans[0], "after the others have ended", false)
}

func firstPagesLife(c *clocked, a *aging) {
	for _, born := range []time.Duration{0, 9 * time.Second, 55 * time.Second} {
		c.set(born)
		a.open(a.next(), 2)
	}
	a.again(61 * time.Second)
	a.finish(a.scans[2], "six seconds after it was opened", false)
	a.finish(a.scans[1], "52 seconds after it was opened", false)
	a.finish(a.scans[0], "a minute after it was opened", false)
}
