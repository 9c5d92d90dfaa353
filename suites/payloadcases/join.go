package payloadcases

import (
	"bytes"
	"fmt"
	"io"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/payload"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// joinCases: the index decides on the order, not the store's work
// (P3.join-order).
func joinCases() []harness.Case {
	return []harness.Case{
		relocationCase("join-order/scattered", "Chunks that are stored and read in any order and at the same time make up the "+
			"payload in the index's order.",
			"P3.join-order", func(t *harness.T) {
				f := onTarget(t)
				f.ChunkSize = 1 << 10
				data := t.RandomBytes(60<<10 - 100)
				x := f.scatter("P3.join-order", "P3.join-order", "p", data)
				t.EqualBytes("P3.join-order", "the payload", data, f.gather("P3.join-order", x))
				f.whole("P3.join-order", "p", data)
			}),
		relocationCase("join-order/together", "Readers of several payloads that share an instance each get their own.",
			"P3.join-order", joinedTogether),
	}
}

const workers = 8

// scatter stores the chunks of a payload in a random order, several at a time,
// and then the index, and cites a requirement for each.
func (f framework) scatter(ofChunks, ofIndex, name string, data []byte) payload.Index {
	t, p := f.t, plan(name, len(data))
	split, err := payload.NewSplitter(bytes.NewReader(data), p.Length, f.ChunkSize)
	if err != nil {
		t.Troublef("the payload could not be split: %v", err)
	}
	x := payload.Index{Length: p.Length, InventoryDigest: p.InventoryDigest}
	var frames [][]byte
	for {
		frame, c, err := split.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Troublef("the payload could not be split: %v", err)
		}
		c.Reference = p.Chunk(len(frames))
		x.CRC = payload.Combine(x.CRC, c.CRC, c.Length)
		x.Chunks, frames = append(x.Chunks, c), append(frames, bytes.Clone(frame))
	}
	f.scattered(len(frames), func(order int) { f.store(ofChunks, x.Chunks[order].Reference, frames[order]) })
	raw, err := payload.EncodeIndex(x)
	if err != nil {
		t.Troublef("the index could not be encoded: %v", err)
	}
	f.store(ofIndex, p.Index, raw)
	return x
}

func (f framework) store(requirement string, ref spi.Reference, raw []byte) {
	r, err := f.Blobs.Put(f.t.Context(), ref, raw, spi.Retention(hour))
	if err != nil {
		f.fail(requirement, err, "putting %q", ref)
	}
	if _, ok := r.(spi.Stored); !ok {
		f.t.Fatalf(requirement, "putting %q answered %s, expected stored", ref, harness.Describe(r))
	}
}

// gather reads the chunks of a payload in a random order, several at a time.
func (f framework) gather(requirement string, x payload.Index) []byte {
	parts := make([][]byte, len(x.Chunks))
	f.scattered(len(parts), func(order int) {
		part, err := f.Confirm(f.t.Context(), order, x.Chunks[order])
		if err != nil {
			f.fail(requirement, err, "reading chunk %d among others", order)
		}
		parts[order] = part
	})
	return bytes.Join(parts, nil)
}

// scattered works on 0..n-1 in a random order, several at a time.
func (f framework) scattered(n int, work func(i int)) {
	order := f.t.Rand().Perm(n)
	f.t.Concurrently(workers, func(worker int) {
		for i := worker; i < n; i += workers {
			work(order[i])
		}
	})
}

func joinedTogether(t *harness.T) {
	f := onTarget(t)
	data := make([][]byte, 4)
	for i := range data {
		data[i] = t.RandomBytes(10 * chunkSize)
		f.put("P3.join-order", fmt.Sprint("p", i), data[i])
	}
	t.Concurrently(workers, func(worker int) {
		for k := range 4 {
			i := (worker + k) % len(data)
			f.whole("P3.join-order", fmt.Sprint("p", i), data[i])
		}
	})
}
