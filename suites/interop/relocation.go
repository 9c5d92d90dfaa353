package interop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

const blobRule = "R8.interop-read"

func (p party) putBlob(ref spi.Reference, payload string, retention spi.Retention) (spi.BlobPutResult, error) {
	return p.provider.Relocation().Put(p.t.Context(), ref, []byte(payload), retention)
}

func store(p party, ref spi.Reference, payload string) spi.Stored {
	r, err := p.putBlob(ref, payload, hour)
	return answer[spi.Stored](p, blobRule, fmt.Sprintf("putting %.40q", ref), r, err)
}

func (p party) readBlob(ref spi.Reference) spi.BlobReadResult {
	r, err := p.provider.Relocation().Read(p.t.Context(), ref)
	return answer[spi.BlobReadResult](p, blobRule, fmt.Sprintf("reading %.40q", ref), r, err)
}

func (p party) findBlob(ref spi.Reference) spi.BlobFound {
	return answer[spi.BlobFound](p, blobRule, fmt.Sprintf("reading %.40q", ref), p.readBlob(ref), nil)
}

func (p party) renew(ref spi.Reference, retention spi.Retention) spi.Renewed {
	r, err := p.provider.Relocation().Renew(p.t.Context(), ref, retention)
	return answer[spi.Renewed](p, blobRule, fmt.Sprintf("renewing %.40q", ref), r, err)
}

var oddReferences = []spi.Reference{
	"r", " r ", "a:b", "{x}", "a\x00b", "*?[a-z]", "참조", "é", "e\u0301",
	spi.Reference(strings.Repeat("r", spi.MaxReferenceBytes)),
}

// relocationCases: payloads of both (R8.interop-read).
func relocationCases() []harness.Case {
	return slices.Concat(
		bothWays(relocationCase, "relocation/put",
			"What one provider stores, the other reads, and answers AlreadyStored to the same bytes and Conflict to others.",
			blobRule+" R4.put", func(t *harness.T, one, other party) {
				for i, ref := range oddReferences {
					payload := strings.Repeat(fmt.Sprint("\x00\xffpayload ", i), 10*i)
					var found spi.BlobFound
					put := t.Bracket(func() { store(one, ref, payload) })
					read := t.Bracket(func() { found = other.findBlob(ref) })
					t.EqualBytes(blobRule, fmt.Sprintf("the payload of %.40q as %s reads it", ref, other.name), []byte(payload),
						found.Bytes)
					t.Expires(blobRule, fmt.Sprintf("the expiry of %.40q as %s reads it", ref, other.name), put.Widened(read),
						hour,
						found.ExpiresAt)
					r, err := other.putBlob(ref, payload, hour)
					answer[spi.AlreadyStored](other, "R4.put", "putting the same bytes again", r, err)
					for _, wrong := range []string{payload + "x", "x" + payload} {
						r, err = other.putBlob(ref, wrong, hour)
						answer[spi.Conflict](other, "R4.put", "putting other bytes", r, err)
					}
					t.EqualBytes(blobRule, "the payload after puts of the other", []byte(payload), one.findBlob(ref).Bytes)
				}
			}),
		bothWays(relocationCase, "relocation/renew", "Both providers agree on the expiry after either has renewed.",
			blobRule+" R4.renew", func(t *harness.T, one, other party) {
				store(one, "r", "payload")
				for i, retention := range []spi.Retention{2 * hour, 90_000, 3 * hour} {
					p, q := other, one
					if i == 1 {
						p, q = one, other
					}
					var found spi.BlobFound
					renewal := t.Bracket(func() { p.renew("r", retention) })
					read := t.Bracket(func() { found = q.findBlob("r") })
					t.Expires("R4.renew", "the expiry that "+p.name+" renewed, as "+q.name+" reads it", renewal.Widened(read),
						retention, found.ExpiresAt)
					t.EqualBytes("R4.renew", "the payload after Renew", []byte("payload"), found.Bytes)
				}
			}),
		bothWays(relocationCase, "relocation/delete",
			"What one provider deletes is absent in the other, which may store there again.", blobRule+" R4.delete",
			func(t *harness.T, one, other party) {
				store(other, "r", "payload")
				if err := one.provider.Relocation().Delete(t.Context(), "r"); err != nil {
					one.provider.Fatalf("R4.delete", err, "%s failed at deleting", one.name)
				}
				answer[spi.Missing](other, blobRule, "reading what the other deleted", other.readBlob("r"), nil)
				r, err := other.provider.Relocation().Renew(t.Context(), "r", hour)
				answer[spi.Missing](other, blobRule, "renewing what the other deleted", r, err)
				store(other, "r", "other bytes")
				t.EqualBytes(blobRule, "the payload that was stored after the other's Delete", []byte("other bytes"),
					one.findBlob("r").Bytes)
			}),
		bothWays(relocationCase, "relocation/expiry", "A payload of one provider whose retention is over is absent in both.",
			blobRule+" R3.expiry-clock", func(t *harness.T, one, other party) {
				const retention = 150
				var r spi.BlobPutResult
				var err error
				put := t.Bracket(func() { r, err = one.putBlob("r", "payload", retention) })
				answer[spi.Stored](one, blobRule, "putting", r, err)
				low, high := put.Expiry(retention)
				for _, p := range []party{other, one} {
					t.Await("R3.expiry-clock", "the expiry that "+one.name+" set, as "+p.name+" sees it,", 10*time.Second,
						func() bool {
							var r spi.BlobReadResult
							read := t.Bracket(func() { r = p.readBlob("r") })
							switch r.(type) {
							case spi.BlobFound:
								return !t.Checkf(read.Before <= high, "R3.expiry-clock",
									"%s found the payload after %d, expired at %d at the latest",
									p.name, read.Before, high)
							case spi.Missing:
								t.Checkf(read.After >= low, blobRule, "%s misses the payload before %d, which "+
									"expires at %d at the earliest",
									p.name, read.After, low)
							}
							return true
						})
				}
				store(other, "r", "other bytes")
			}),
		[]harness.Case{relocationCase("relocation/concurrent",
			"Of concurrent Puts of different bytes by both providers one is Stored and all others conflict.", "R4.put "+blobRule,
			concurrentPuts)},
	)
}

func concurrentPuts(t *harness.T) {
	ps := parties(t)
	for round := range 6 {
		ref := spi.Reference(fmt.Sprint("r", round))
		results := make([]spi.BlobPutResult, 6)
		t.Concurrently(len(results), func(w int) {
			r, err := ps[w%2].putBlob(ref, fmt.Sprint("payload ", w), hour)
			if err != nil {
				ps[w%2].provider.Fatalf(blobRule, err, "%s failed at a concurrent Put", ps[w%2].name)
			}
			results[w] = r
		})
		got, winners := string(ps[0].findBlob(ref).Bytes), 0
		for w, r := range results {
			switch r.(type) {
			case spi.Stored:
				winners++
				t.Checkf(got == fmt.Sprint("payload ", w), "R4.put", "Stored was answered for payload %d, but %.40q is read", w,
					got)
			case spi.Conflict:
			default:
				t.Failf("R4.put", "a concurrent Put of other bytes answered %s", harness.Describe(r))
			}
		}
		t.Checkf(winners == 1, "R4.put", "%d of %d concurrent Puts of different bytes were Stored, expected 1", winners,
			len(results))
	}
}
