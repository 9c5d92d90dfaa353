package spicases

import (
	"bytes"
	"sync/atomic"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// blobOneObservation reads a reference that another instance keeps deleting
// and putting: bytes and expiry are those of one Put, and what is found has not
// expired.
func blobOneObservation(t *harness.T) {
	const rounds, long = 150, 2 * hour
	payloads := [][]byte{bytes.Repeat([]byte("a"), 300), bytes.Repeat([]byte("b"), 700)}
	retentions := []spi.Retention{hour, long}
	writer, readers := t.Target().OpenRelocation(harness.Store{}),
		[]*harness.Relocation{t.Relocation(), t.Target().OpenRelocation(harness.Store{})}
	var over atomic.Bool
	t.Concurrently(1+len(readers), func(i int) {
		if i == 0 {
			defer over.Store(true)
			for n := range rounds {
				writer.MustDelete("r")
				writer.MustStore("r", payloads[n%2], retentions[n%2])
			}
			return
		}
		for !over.Load() {
			var res spi.BlobReadResult
			read := t.Bracket(func() { res = readers[i-1].MustRead("r") })
			f, ok := res.(spi.BlobFound)
			if !ok {
				continue
			}
			which := 0
			if bytes.Equal(f.Bytes, payloads[1]) {
				which = 1
			} else if !bytes.Equal(f.Bytes, payloads[0]) {
				t.Fatalf("R4.read", "a payload of %d bytes was read that was never put", len(f.Bytes))
			}
			// The other one's expiry is an hour away.
			left, want := f.ExpiresAt-f.StoreNow, spi.Millis(retentions[which])
			if left <= 0 || left > want+read.After-read.Before+2 || left < want-hour/2 {
				t.Fatalf("R4.read", "the bytes of one Put, with a retention of %d ms, were read with %d ms left", want, left)
			}
		}
	})
}
