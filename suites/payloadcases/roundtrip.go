package payloadcases

import (
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
)

// roundTripCases: payloads at the borders of chunks come back as they were,
// through another instance (P3.bounds, P3.join-order).
func roundTripCases() []harness.Case {
	var cases []harness.Case
	for _, row := range []struct {
		slug, title string
		length      int
		chunks      int
	}{
		{"empty", "An empty payload, which is one empty chunk,", 0, 1},
		{"1-byte", "A payload of one byte", 1, 1},
		{"chunk-less-1", "A payload one byte short of a chunk", chunkSize - 1, 1},
		{"one-chunk", "A payload of just one chunk", chunkSize, 1},
		{"chunk-plus-1", "A payload one byte longer than a chunk", chunkSize + 1, 2},
		{"many-chunks", "A payload of many chunks", 30*chunkSize + 7, 31},
	} {
		cases = append(cases, relocationCase("round-trip/"+row.slug, row.title+" comes back whole.",
			"P3.bounds P3.join-order P3.index",
			func(t *harness.T) { roundTrip(t, onTarget(t), "P3.bounds", row.length, row.chunks) }))
	}
	return append(cases,
		relocationCase("round-trip/1-mib-chunks", "A payload in chunks of 1 MiB comes back whole.",
			"P3.frame P3.join-order P3.bounds P3.index",
			func(t *harness.T) {
				f := onTarget(t)
				f.ChunkSize = 1 << 20
				roundTrip(t, f, "P3.frame", 2<<20+5, 3)
			}),
		relocationCase("round-trip/side-by-side", "Payloads that are stored and joined at the same time each come back whole.",
			"P3.join-order R3.no-dedupe", sideBySide),
	)
}

// roundTrip cites the requirement when the payload can't be stored.
func roundTrip(t *harness.T, f framework, requirement string, length, chunks int) {
	data := t.RandomBytes(length)
	put := f.put(requirement, "p", data)
	t.Checkf(len(put.Chunks) == chunks, "P3.bounds", "%d bytes became %d chunks, expected %d", length, len(put.Chunks), chunks)
	f.Blobs = t.Relocation()
	joined := f.whole("P3.join-order", "p", data)
	t.Equal("P3.index", "the leading index that was read", put, joined)
}

// sideBySide stores the same bytes twice as well, as payloads of their own.
func sideBySide(t *harness.T) {
	const payloads = 8
	f := onTarget(t)
	data := make([][]byte, payloads)
	for i := range data {
		data[i] = t.RandomBytes(5*chunkSize + i)
	}
	data[1] = data[0]
	t.Concurrently(payloads, func(i int) {
		name := fmt.Sprint("p", i)
		f.put("P3.join-order", name, data[i])
		f.whole("P3.join-order", name, data[i])
	})
	for i := range data {
		f.whole("P3.join-order", fmt.Sprint("p", i), data[i])
	}
}
