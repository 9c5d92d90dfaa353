package mutants

import (
	"context"
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// sequenceMutants lose digits of the shared sequence, or of expiry fields.
func sequenceMutants() []Mutant {
	const (
		next     = "  score = score + 1\n"
		version  = "local version = text(score)"
		boundary = "call('GET', ns .. 'sequence') or '0', now, '[' .. prefix"
		usedUp   = "tonumber(issued) + mutations > 9007199254740992"
	)
	expiry := func(id, requirement, title string, change func(spi.Millis) spi.Millis) Mutant {
		return onLocation(id, requirement, title, func(l *location) {
			l.read = changeFound(l, func(f *spi.Found) { f.Value.ExpiresAt = change(f.Value.ExpiresAt) })
			l.scan = changePage(l, func(_ spi.ScanRequest, p *spi.Page) {
				for i := range p.Items {
					p.Items[i].Value.ExpiresAt = change(p.Items[i].Value.ExpiresAt)
				}
			})
		})
	}
	return []Mutant{
		script("sequence/31-bits", "L9.zset", "Scores start over at 2^31.",
			onWrite(next, "  score = (score + 1) % 2147483648\n")),
		script("sequence/32-bits", "L9.zset", "Scores start over at 2^32.",
			onWrite(next, "  score = (score + 1) % 4294967296\n")),
		script("sequence/fourteen-digits", "L3.version-fresh", "Versions and scores are printed with 14 digits.",
			onWrite(version, "local version = tostring(score)")),
		script("sequence/fifteen-digits", "L3.version-fresh", "Versions and scores are printed with 15 digits.",
			onWrite(version, "local version = string.format('%.15g', score)")),
		script("sequence/scores-of-fourteen-digits", "L9.zset", "Scores are printed with 14 digits, versions whole.",
			issued("text(score)")[0], onWrite("call('ZADD', record, version, member)",
				"call('ZADD', record, tostring(score), member)")),
		script("sequence/boundary-of-fourteen-digits", "L5.complete", "The boundary of a snapshot is printed with 14 digits.",
			onScan(boundary, "tostring(tonumber(call('GET', ns .. 'sequence') or '0')), now, '[' .. prefix")),
		script("sequence/boundary-of-32-bits", "L5.complete", "The boundary of a snapshot has 32 bits.",
			onScan(boundary, "text(tonumber(call('GET', ns .. 'sequence') or '0') % 4294967296), now, '[' .. prefix")),
		script("sequence/boundary-of-fifteen-digits", "L5.complete", "The boundary of a snapshot is printed with 15 digits.",
			onScan(boundary, "string.format('%.15g', tonumber(call('GET', ns .. 'sequence') or '0')), now, '[' .. prefix")),
		script("sequence/past-the-end", "L9.zset", "The sequence goes on above 2^53, where a score is that of the member before.",
			onWrite(usedUp, "false")),
		script("sequence/ends-early", "L9.zset", "The sequence ends at 15 digits.", onWrite(usedUp, "#issued > 15")),
		script("sequence/refused-in-part", "L9.zset",
			"A batch for which the sequence has too few numbers left has used the record.",
			onWrite("  return fail('the sequence is used up')", `
  call('DEL', ARGV[at + 1])
  return fail('the sequence is used up')`)),

		expiry("expiry/as-a-double", "L9.expiry-field", "The expiry of a record is a double.", func(ms spi.Millis) spi.Millis {
			if ms > 1<<53 && ms < 1<<62 {
				return spi.Millis(float64(ms))
			}
			return ms
		}),
		expiry("expiry/as-nanoseconds", "L9.expiry-field", "The expiry of a record is held in nanoseconds of 64 bits.",
			func(ms spi.Millis) spi.Millis { return min(ms, 9_223_372_036_854) }),
		expiry("expiry/clipped-to-year-9999", "L9.expiry-field", "The expiry of a record is at most the end of the year 9999.",
			func(ms spi.Millis) spi.Millis { return min(ms, 253_402_300_799_999) }),
		onLocation("expiry/overflows", "L9.interop-read", "A record that expires after 2^53 has expired.", func(l *location) {
			l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
				r, err := l.LocationStore.Read(ctx, key)
				if f, ok := r.(spi.Found); ok && f.Value.ExpiresAt > 1<<53 {
					return spi.Missing{StoreNow: f.StoreNow}, nil
				}
				return r, err
			}
		}),
	}
}

// byteBoundMutants count a request's bytes in another way, or take for a
// version what is none.
func byteBoundMutants() []Mutant {
	// counting applies what is too large only by the bytes that count leaves out.
	counting := func(slug, title string, count func(spi.WriteRequest) int) Mutant {
		return requests("byte-bound/"+slug, "L4.byte-bound", title, func(w spi.WriteRequest) (spi.WriteRequest, error) {
			switch n := count(w); {
			case n > spi.MaxBatchBytes:
				return w, spi.Argument("the batch is too large")
			case sizeOf(w) > spi.MaxBatchBytes:
				w.Conditions = nil // all that keeps the reference from it
				w.Mutations = w.Mutations[:1]
			}
			return w, nil
		})
	}
	conditionKeys := func(w spi.WriteRequest) (n int) {
		for _, c := range w.Conditions {
			n += len(c.ConditionKey())
		}
		return n
	}
	versions := func(id, title string, change func(spi.VersionCondition) spi.Condition) Mutant {
		return requests(id, "L4.version", title, func(w spi.WriteRequest) (spi.WriteRequest, error) {
			conditions := w.Conditions
			w.Conditions = nil
			for _, c := range conditions {
				if v, ok := c.(spi.VersionCondition); ok {
					if c = change(v); c == nil {
						continue
					}
				}
				w.Conditions = append(w.Conditions, c)
			}
			return w, nil
		})
	}
	return []Mutant{
		counting("condition-keys-free", "Keys of conditions do not count towards the 4 MiB.",
			func(w spi.WriteRequest) int { return sizeOf(w) - conditionKeys(w) }),
		counting("shared-keys-once", "A key in a condition and in a mutation counts once towards the 4 MiB.",
			func(w spi.WriteRequest) int {
				n, written := sizeOf(w), map[spi.Key]bool{}
				for _, m := range w.Mutations {
					written[m.MutationKey()] = true
				}
				for _, c := range w.Conditions {
					if written[c.ConditionKey()] {
						n -= len(c.ConditionKey())
					}
				}
				return n
			}),
		counting("condition-keys-twice", "Keys of conditions count twice towards the 4 MiB.",
			func(w spi.WriteRequest) int { return sizeOf(w) + conditionKeys(w) }),
		counting("versions-twice", "Expected versions count twice towards the 4 MiB.", func(w spi.WriteRequest) int {
			n := sizeOf(w)
			for _, c := range w.Conditions {
				if v, ok := c.(spi.VersionCondition); ok {
					n += len(v.Expected)
				}
			}
			return n
		}),
		counting("versions-free", "Expected versions do not count towards the 4 MiB.", func(w spi.WriteRequest) int {
			n := sizeOf(w)
			for _, c := range w.Conditions {
				if v, ok := c.(spi.VersionCondition); ok {
					n -= len(v.Expected)
				}
			}
			return n
		}),
		versions("expected/empty-is-any", "An empty expected version is any.", func(v spi.VersionCondition) spi.Condition {
			if v.Expected == "" {
				return nil
			}
			return v
		}),
		versions("expected/long-is-any", "An expected version of more than 4,096 bytes is not compared.",
			func(v spi.VersionCondition) spi.Condition {
				if len(v.Expected) > spi.MaxVersionBytes {
					return nil
				}
				return v
			}),
		versions("expected/trimmed", "Spaces at the end of an expected version are left out.",
			func(v spi.VersionCondition) spi.Condition {
				v.Expected = spi.Version(strings.TrimRight(string(v.Expected), " "))
				return v
			}),
		versions("expected/invalid-left-out", "Bytes of an expected version that are no UTF-8 are left out.",
			func(v spi.VersionCondition) spi.Condition {
				v.Expected = spi.Version(strings.ToValidUTF8(string(v.Expected), ""))
				return v
			}),
		requests("expected/malformed-is-a-failure", "L4.version", "A malformed expected version is a store failure.",
			func(w spi.WriteRequest) (spi.WriteRequest, error) {
				bad := slices.ContainsFunc(w.Conditions, func(c spi.Condition) bool {
					v, ok := c.(spi.VersionCondition)
					return ok && (v.Expected == "" || len(v.Expected) > spi.MaxVersionBytes)
				})
				if bad {
					return w, failure("the version is malformed")
				}
				return w, nil
			}),
	}
}

// sizeOf is the encoded size of a request (L4.byte-bound).
func sizeOf(w spi.WriteRequest) (n int) {
	for _, c := range w.Conditions {
		n += len(c.ConditionKey())
		switch c := c.(type) {
		case spi.VersionCondition:
			n += len(c.Expected)
		case spi.ValueCondition:
			n += len(c.Expected)
		}
	}
	for _, m := range w.Mutations {
		n += len(m.MutationKey())
		if p, ok := m.(spi.Put); ok {
			n += len(p.Bytes)
		}
	}
	return n
}
