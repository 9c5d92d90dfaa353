package payloadcases

import (
	"bytes"
	"errors"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/payload"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// endCases: how payloads end, by deletion or by themselves (R6.orphan).
func endCases() []harness.Case {
	return []harness.Case{
		relocationCase("delete/whole", "Deleting removes index and chunks, as often as it is asked, and "+
			"leaves other payloads alone.",
			"R4.delete R3.no-dedupe", deleteWhole),
		relocationCase("orphan/chunks", "Chunks that got no index disappear after their retention, while a "+
			"payload beside them stays.",
			"R6.orphan R6.published", orphanChunks),
		relocationCase("orphan/payload", "A payload that nobody renews disappears whole after its retention.",
			"R6.orphan P3.data-lost", orphanPayload),
	}
}

func deleteWhole(t *harness.T) {
	f, data := onTarget(t), t.RandomBytes(3*chunkSize)
	f.put("R4.delete", "beside", data)
	x := f.put("R4.delete", "p", data)
	for range 2 {
		if err := f.Delete(t.Context(), index("p")); err != nil {
			f.fail("R4.delete", err, "deleting a payload")
		}
		for _, ref := range all("p", x) {
			t.Relocation().MustMiss(ref)
		}
	}
	_, err := f.Join(t.Context(), index("p"), new(bytes.Buffer))
	f.lost("joining a deleted payload", err, payload.IndexLost, payload.Absent)
	f.whole("R3.no-dedupe", "beside", data)
	other := t.RandomBytes(2 * chunkSize)
	f.put("R4.delete", "p", other)
	f.whole("R4.delete", "p", other)
}

// brief is what the cases wait for, in milliseconds.
const brief = 120

func orphanChunks(t *harness.T) {
	f, data := onTarget(t), t.RandomBytes(3*chunkSize)
	f.put("R6.published", "beside", data)
	_, err := f.keeping(brief).Put(t.Context(), plan("p", len(data)), bytes.NewReader(data[:2*chunkSize]))
	over := t.Now() + brief + late
	var lost *payload.DataLost // if the machine was so slow that a chunk has expired already
	if spi.KindOf(err) != spi.KindArgument && !errors.As(err, &lost) {
		f.fail("R6.orphan", err, "storing two of three chunks")
	}
	awaitTime(t, over)
	for order := range 3 {
		gone(t, chunk("p", order))
	}
	t.Relocation().MustMiss(index("p"))
	f.whole("R6.published", "beside", data)
}

func orphanPayload(t *harness.T) {
	f, data := onTarget(t), t.RandomBytes(2*chunkSize+1)
	_, err := f.keeping(brief).Put(t.Context(), plan("p", len(data)), bytes.NewReader(data))
	over := t.Now() + brief + late
	var lost *payload.DataLost // as above
	if err != nil && !errors.As(err, &lost) {
		f.fail("R6.orphan", err, "storing a payload")
	}
	awaitTime(t, over)
	for order := range 3 {
		gone(t, chunk("p", order))
	}
	gone(t, index("p"))
	_, err = f.Join(t.Context(), index("p"), new(bytes.Buffer))
	f.lost("joining a payload after its retention", err, payload.IndexLost, payload.Absent)
	f.lost("renewing it", f.Renew(t.Context(), index("p")), payload.IndexLost, payload.Absent)
}

// gone checks that a reference holds nothing any more.
func gone(t *harness.T, ref spi.Reference) {
	r := t.Relocation().MustRead(ref)
	_, missing := r.(spi.Missing)
	t.Checkf(missing, "R6.orphan", "after its retention of %d ms reading %q answered %s, expected missing", brief, ref,
		harness.Describe(r))
}
