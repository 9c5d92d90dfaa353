package resilience

import (
	"bytes"
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// largePutCases: a payload and its expiry come in one step, however large it is.
func largePutCases() []harness.Case {
	c := relocationCase("unknown/payload-and-expiry",
		"A Put of a payload of any size whose connection breaks leaves none that never expires, and none that is cut off.",
		"R6.orphan R5.unknown-outcome R5.recover", payloadAndExpiry)
	return []harness.Case{c}
}

func payloadAndExpiry(t *harness.T) {
	const most = 12 // commands that are aimed at
	w := open(t, &relocation, failingTimeout)
	for _, size := range []int{1, 64<<10 + 1, 1<<20 + 1, 8 << 20} {
		payload := bytes.Repeat([]byte{'p'}, size)
		for n := 1; n <= most; n++ {
			ref := spi.Reference(fmt.Sprintf("payload-%d-%d", size, n))
			w.warm()
			if !w.breakAfter(n, func() { _, _ = w.relocation.Put(t.Context(), ref, payload, spi.Retention(hour)) }) {
				break // it sends fewer
			}
			w.disarm()
			w.whole(ref, payload, n)
		}
	}
	w.works("after its connections were lost")
}

// breakAfter runs the operation on a network that is gone as soon as Redis has
// executed the n-th command. It reports whether there was such a command.
func (w *wiring) breakAfter(n int, operation func()) bool {
	executed := w.proxy.Arm(redisenv.Match{}.Number(n), redisenv.HoldReply())
	w.proxy.Arm(redisenv.Match{}.Number(n+1), redisenv.Hold()) // ends with its connection, and is not forwarded
	meanwhile(w.t, operation, func(ended <-chan struct{}) {
		select {
		case <-executed.Fired():
			w.proxy.Refuse()
			w.proxy.CutAll()
		case <-ended:
		}
	})
	return met(executed)
}

// whole looks at a payload of which nobody knows whether it was stored.
func (w *wiring) whole(ref spi.Reference, payload []byte, n int) {
	t := w.t
	what := fmt.Sprintf("a Put of %d bytes whose connection broke after command %d", len(payload), n)
	if t.Target().Info().Layout == targets.LayoutOfficial {
		key := t.KeyPrefix() + ":{zlink-relocation-v1}:blob:" + string(ref)
		left, err := t.Redis().PTTL(t.Context(), key).Result()
		if err != nil {
			t.Troublef("PTTL failed: %v", err)
		}
		if left == -1 {
			t.Failf("R6.orphan", "%s left a payload that never expires", what)
			return // reading it is a store failure
		}
	}
	r, err := w.sideRelocation.Read(t.Context(), ref)
	if !t.Checkf(err == nil, "R6.orphan", "after %s, Read of it ended with %v", what, err) {
		return
	}
	if f, found := r.(spi.BlobFound); found {
		t.EqualBytes("R5.unknown-outcome", "the payload after "+what, payload, f.Bytes)
		t.Checkf(f.ExpiresAt <= t.Now()+hour+1, "R6.orphan",
			"after %s it expires at %d, more than its retention from now", what, f.ExpiresAt)
	}
}
