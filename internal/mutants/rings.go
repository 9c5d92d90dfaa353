package mutants

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// ring hands out copies in n buffers in turn, of contents within the bounds;
// others it leaves alone.
type ring struct {
	mu          sync.Mutex
	buffers     [][]byte
	least, most int
	next        int
}

func newRing(n, least, most int) *ring {
	return &ring{buffers: make([][]byte, n), least: least, most: most}
}

func (r *ring) put(b []byte) []byte {
	if len(b) < r.least || len(b) > r.most {
		return b
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.next % len(r.buffers)
	r.next++
	if cap(r.buffers[i]) < len(b) {
		r.buffers[i] = make([]byte, len(b), max(len(b), min(r.most, 1<<20)))
	}
	r.buffers[i] = r.buffers[i][:len(b)]
	copy(r.buffers[i], b)
	return r.buffers[i]
}

// ringMutants use buffers again after a while, or for what is large alone
// (L3.result-stable, L6.input-bytes, R4.stable).
func ringMutants() []Mutant {
	var mutants []Mutant
	for _, row := range []struct {
		slug, title    string
		n, least, most int
	}{
		{"of-16", "Results lie in 16 buffers in turn.", 16, 0, 1 << 20},
		{"of-64", "Results lie in 64 buffers in turn.", 64, 0, 1 << 20},
		{"small-of-100", "Results of less than 4 KiB lie in 100 buffers in turn.", 100, 0, 4 << 10},
		{"large", "Results of 64 KiB and more lie in a pooled buffer.", 1, 64 << 10, 1 << 20},
		{"large-of-4", "Results of 64 KiB and more lie in four pooled buffers in turn.", 4, 64 << 10, 1 << 20},
	} {
		mutants = append(mutants,
			onLocation("ring/values-"+row.slug, "L3.result-stable", row.title, func(l *location) {
				r := newRing(row.n, row.least, row.most)
				l.read = changeFound(l, func(f *spi.Found) { f.Value.Bytes = r.put(f.Value.Bytes) })
			}),
			onRelocation("ring/payloads-"+row.slug, "R4.stable", row.title, func(s *relocation) {
				r := newRing(row.n, row.least, row.most)
				s.read = changeBlob(s, func(f *spi.BlobFound) { f.Bytes = r.put(f.Bytes) })
			}))
	}
	for _, least := range []int{0, 64 << 10} {
		mutants = append(mutants,
			onLocation(fmt.Sprint("ring/shared-input-", least), "L6.input-bytes",
				fmt.Sprintf("Values of %d bytes and more are sent from a buffer that all writes share.", least),
				func(l *location) {
					shared := newCrowded(least)
					l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
						w.Mutations = slices.Clone(w.Mutations)
						for i, m := range w.Mutations {
							if p, ok := m.(spi.Put); ok {
								p.Bytes = shared.send(p.Bytes)
								w.Mutations[i] = p
							}
						}
						return l.LocationStore.Write(ctx, w)
					}
				}),
			onRelocation(fmt.Sprint("ring/shared-payload-", least), "R4.stable",
				fmt.Sprintf("Payloads of %d bytes and more are sent from a buffer that all Puts share.", least),
				func(r *relocation) {
					shared := newCrowded(least)
					r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
						return r.RelocationStore.Put(ctx, ref, shared.send(p), ms)
					}
				}))
	}
	return mutants
}

// crowded is a buffer that whoever sends at the same time shares: what is sent
// is what the last of them has written there.
type crowded struct {
	least int
	mu    sync.Mutex
	last  []byte
}

func newCrowded(least int) *crowded { return &crowded{least: least} }

func (c *crowded) send(b []byte) []byte {
	if len(b) < c.least || len(b) == 0 {
		return b
	}
	c.mu.Lock()
	c.last = slices.Clone(b) // its owner overwrites it afterwards
	c.mu.Unlock()
	time.Sleep(2 * time.Millisecond) // until the connection is free
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := slices.Clone(b)
	copy(sent, c.last)
	return sent
}
