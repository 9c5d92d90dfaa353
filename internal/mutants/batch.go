package mutants

import (
	"context"
	"math"
	"slices"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// batchMutants break the conditional atomic batch (L4).
func batchMutants() []Mutant {
	const exists = "local exists = current and live(current, now)"
	return slices.Concat([]Mutant{
		script("batch/no-condition-check", "L4.missing", "No condition is checked.",
			onWrite("if not holds then", "if false then")),
		script("batch/missing-ignores-deletion", "L4.missing", "Missing does not hold for a deleted key.",
			onWrite("holds = not exists", "holds = not current or not current.tombstone and not exists")),
		script("batch/missing-ignores-expiry", "L4.missing", "Missing does not hold for an expired key.",
			onWrite(exists, "local exists = current and not current.tombstone")),
		script("batch/version-of-absent", "L4.version", "Version holds for absent keys.",
			onWrite("holds = exists and current.version == expected", "holds = not exists or current.version == expected")),
		script("batch/version-as-number", "L4.version", "Versions are compared as numbers.",
			onWrite("current.version == expected", "tonumber(current.version) == tonumber(expected)")),
		script("batch/version-not-compared", "L4.version", "Version holds for any version.",
			onWrite("holds = exists and current.version == expected", "holds = exists")),
		script("batch/version-of-the-store", "L4.version",
			"A version is good only until two others have been issued, for whatever key.",
			onWrite("holds = exists and current.version == expected",
				"holds = exists and current.version == expected and tonumber(call('GET', sequence)) - "+
					"(tonumber(expected) or 0) < 2")),
		script("batch/version-of-expired", "L4.version", "Version holds for a value that has expired.",
			onWrite(exists, "local exists = current and (kind == 'version' and not current.tombstone or live(current, now))")),
		script("batch/value-length-only", "L4.value", "A value condition compares lengths only.",
			onWrite("\n      and string.sub(found[1], current.first, current.last) == expected", "")),
		script("batch/value-of-absent", "L4.value", "A value condition on an empty value holds for absent keys.",
			onWrite("holds = exists and current.size == #expected",
				"holds = not exists and expected == '' or exists and current.size == #expected")),
		requests("batch/value-limit", "L4.value", "Value conditions on more than 64 KiB are refused.",
			func(w spi.WriteRequest) (spi.WriteRequest, error) {
				for _, c := range w.Conditions {
					if v, ok := c.(spi.ValueCondition); ok && len(v.Expected) > 64<<10 {
						return w, spi.Argument("value too large")
					}
				}
				return w, nil
			}),

		script("batch/put-keeps-the-old", "L4.put", "A Put does not replace a live value.",
			onWrite("if put or call('EXISTS', record) == 1 then",
				"local old = call('ZREVRANGE', record, 0, 0)[1] old = old and parse(old, key)\n  if old and put and live(old, "+
					"now) then elseif put or call('EXISTS', record) == 1 then")),
		script("batch/put-keeps-the-expiry", "L4.put", "A Put keeps the expiry of the value that it replaces.",
			onWrite("    if retention ~= 0 then", "    local old = call('ZREVRANGE', record, 0, 0)[1]\n    old = old and "+
				"parse(old, key)\n    if old and old.expires > 0 then expires = old.expires elseif retention ~= 0 then")),
		script("batch/delete-leaves-empty", "L4.delete", "A Delete leaves an empty value.",
			onWrite("expires, not put}", "expires, false}")),
		script("batch/delete-of-absent", "L4.delete", "A Delete of an absent key is a Conflict.",
			onWrite("if mutations == 0 then", `for i = at, #ARGV, 5 do
  local top = ARGV[i] == 'delete' and (call('ZREVRANGE', ARGV[i + 1], 0, 0)[1] or false)
  local member = top and parse(top, ARGV[i + 2])
  if ARGV[i] == 'delete' and not (member and live(member, now)) then return {'conflict', text(now)} end
end
if mutations == 0 then`)),
		script("batch/last-condition-unchecked", "L4.all-or-nothing", "The last of several conditions is not checked.",
			onWrite("for _ = 1, conditions do", "for c = 1, conditions do"),
			onWrite("if not holds then", "if not holds and (c < conditions or c == 1) then")),
		script("batch/conflict-deletes", "L4.all-or-nothing", "A conflict deletes the record of the false condition.",
			onWrite("if not holds then", "if not holds then call('DEL', record)")),
		script("batch/first-condition-decides", "L4.all-or-nothing", "Only the first condition decides.",
			onWrite("if not holds then", "if not holds and at == 8 then")),
		onLocation("batch/conflict-applies-half", "L4.all-or-nothing",
			"On a conflict the first mutation is applied all the same.", func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					r, err := l.LocationStore.Write(ctx, w)
					if _, ok := r.(spi.Conflict); ok && len(w.Mutations) > 1 {
						_, _ = l.LocationStore.Write(ctx, spi.WriteRequest{Mutations: w.Mutations[:1]})
					}
					return r, err
				}
			}),
		onLocation("batch/conditions-first", "L4.all-or-nothing",
			"Conditions are checked with one command and mutations applied with the next.", func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					if len(w.Conditions) > 0 && len(w.Mutations) > 0 {
						r, err := l.LocationStore.Write(ctx, spi.WriteRequest{Conditions: w.Conditions})
						if _, ok := r.(spi.Applied); !ok {
							return r, err
						}
						w.Conditions = nil
					}
					return l.LocationStore.Write(ctx, w)
				}
			}),
		onLocation("batch/in-two-halves", "L4.isolation", "The mutations of a batch are applied in two halves.",
			func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					return writeSplit(ctx, l, w, len(w.Mutations)/2)
				}
			}),
		onLocation("batch/check-then-act", "L4.isolation", "Conditions are checked before the commit and not in it.",
			checkThenAct),
		onLocation("batch/conflict-without-time", "L4.conflict-silent",
			"A Conflict carries the time of nothing instead of StoreNow.", func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					r, err := l.LocationStore.Write(ctx, w)
					if _, ok := r.(spi.Conflict); ok {
						return spi.Conflict{}, err
					}
					return r, err
				}
			}),

		requests("batch/keys-counted-twice", "L4.key-bound", "The key bound counts conditions plus mutations.",
			func(w spi.WriteRequest) (spi.WriteRequest, error) {
				if len(w.Conditions)+len(w.Mutations) > spi.MaxBatchKeys {
					return w, spi.Argument("too many keys")
				}
				return w, nil
			}),
		requests("batch/key-bound-1024", "L4.key-bound", "At most 1,024 mutations are taken.",
			func(w spi.WriteRequest) (spi.WriteRequest, error) {
				if len(w.Mutations) > 1024 {
					return w, spi.Argument("too many keys")
				}
				return w, nil
			}),
		onLocation("batch/no-key-bound", "L4.key-bound", "A batch of too many keys is applied in parts.", func(l *location) {
			l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
				r, err := l.LocationStore.Write(ctx, w)
				if spi.KindOf(err) == spi.KindArgument && len(w.Conditions)+len(w.Mutations) > spi.MaxBatchKeys {
					w.Conditions = w.Conditions[:min(len(w.Conditions), spi.MaxBatchKeys/2)]
					return writeSplit(ctx, l, w, len(w.Mutations)/2)
				}
				return r, err
			}
		}),
		requests("batch/byte-bound-1-mib", "L4.byte-bound", "Batches of more than 1 MiB are refused.",
			func(w spi.WriteRequest) (spi.WriteRequest, error) {
				if size(w) > 1<<20 {
					return w, spi.Argument("batch too large")
				}
				return w, nil
			}),
		requests("batch/keys-weigh-double", "L4.byte-bound", "The byte bound counts keys twice as they travel.",
			func(w spi.WriteRequest) (spi.WriteRequest, error) {
				n := size(w)
				for _, m := range w.Mutations {
					n += len(m.MutationKey())
				}
				if n > spi.MaxBatchBytes {
					return w, spi.Argument("batch too large")
				}
				return w, nil
			}),
		onLocation("batch/no-byte-bound", "L4.byte-bound", "A batch of more than 4 MiB is applied in parts.", func(l *location) {
			l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
				r, err := l.LocationStore.Write(ctx, w)
				if spi.KindOf(err) == spi.KindArgument && size(w) > spi.MaxBatchBytes {
					w.Conditions = nil
					return writeSplit(ctx, l, w, len(w.Mutations)/2)
				}
				return r, err
			}
		}),
		requests("batch/last-mutation-wins", "L4.duplicates", "Of two mutations of one key the last one wins.",
			func(w spi.WriteRequest) (spi.WriteRequest, error) {
				var out []spi.Mutation
				for i, m := range w.Mutations {
					if !slices.ContainsFunc(w.Mutations[i+1:],
						func(n spi.Mutation) bool { return n.MutationKey() == m.MutationKey() }) {
						out = append(out, m)
					}
				}
				w.Mutations = out
				return w, nil
			}),
		requests("batch/last-condition-wins", "L4.duplicates", "Of two conditions on one key the last one wins.",
			func(w spi.WriteRequest) (spi.WriteRequest, error) {
				var out []spi.Condition
				for i, c := range w.Conditions {
					if !slices.ContainsFunc(w.Conditions[i+1:],
						func(n spi.Condition) bool { return n.ConditionKey() == c.ConditionKey() }) {
						out = append(out, c)
					}
				}
				w.Conditions = out
				return w, nil
			}),
		requests("batch/near-duplicates", "L4.duplicates", "Keys that differ in case alone count as duplicates.", nearDuplicates),
		script("batch/one-version-for-all", "L4.applied", "All Puts of a batch are given one version.",
			onWrite("reply[#reply + 1] = version", "reply[#reply + 1] = reply[3] or version")),
		onLocation("batch/delete-has-a-version", "L4.applied", "Applied lists a version for deletes too.", func(l *location) {
			l.write = changeApplied(l, func(w spi.WriteRequest, a *spi.Applied) {
				for _, m := range w.Mutations {
					if d, ok := m.(spi.Delete); ok {
						a.PutVersions = append(a.PutVersions, spi.PutVersion{Key: d.Key, Version: "deleted"})
					}
				}
			})
		}),
		onLocation("batch/first-version-only", "L4.applied", "Applied lists the version of the first Put alone.",
			func(l *location) {
				l.write = changeApplied(l, func(_ spi.WriteRequest,
					a *spi.Applied) {
					a.PutVersions = a.PutVersions[:min(1, len(a.PutVersions))]
				})
			}),

		requests("batch/conditions-alone-refused", "L4.condition-only", "A batch without mutations is an argument error.",
			func(w spi.WriteRequest) (spi.WriteRequest, error) {
				if len(w.Mutations) == 0 {
					return w, spi.Argument("no mutations")
				}
				return w, nil
			}),
		script("batch/conditions-alone-unchecked", "L4.condition-only",
			"A batch without mutations applies whatever its conditions say.",
			onWrite("if not holds then", "if not holds and mutations > 0 then")),
		script("batch/burst-refused", "L4.burst", "A key with two versions in its backlog takes no further Put.",
			onWrite("local issued = call", "if call('ZCARD', ARGV[at + 1]) > 1 and conditions == 0 then return {'conflict', "+
				"text(now)} end local issued = call")),
		onLocation("batch/backlog-limit", "L4.burst", "After 200 Puts of a key within a second the next ones fail.",
			backlogLimit),
	}, retentionMutants())
}

func retentionMutants() []Mutant {
	retention := func(id, title string, change func(float64) (float64, error)) Mutant {
		return puts(id, "L4.retention", title, func(p spi.Put) (spi.Put, error) {
			if p.Retention == nil {
				return p, nil
			}
			ms, err := change(float64(*p.Retention))
			if p.Retention = spi.For(ms); math.IsInf(ms, 1) {
				p.Retention = nil
			}
			return p, err
		})
	}
	return []Mutant{
		retention("retention/fraction-floored", "A fraction of a millisecond is floored, to zero if need be.",
			func(ms float64) (float64, error) { return math.Floor(ms), nil }),
		retention("retention/fraction-floored-to-durable", "A retention below one millisecond becomes none at all.",
			func(ms float64) (float64, error) {
				if ms > 0 && ms < 1 {
					return math.Inf(1), nil
				}
				return ms, nil
			}),
		retention("retention/zero-is-durable", "A retention of zero means none.", func(ms float64) (float64, error) {
			if ms == 0 {
				return math.Inf(1), nil
			}
			return ms, nil
		}),
		retention("retention/negative-is-short", "A negative retention is taken for a short one.",
			func(ms float64) (float64, error) {
				if ms <= 0 {
					return 1, nil
				}
				return ms, nil
			}),
		retention("retention/clipped", "A long retention is clipped to 32 bits.",
			func(ms float64) (float64, error) { return min(ms, math.MaxInt32), nil }),
		script("retention/fourteen-digits", "L4.retention", "Long expiries lose digits, as Lua's tostring writes 1e+14.",
			onWrite("expires = now + retention", "expires = tonumber(tostring(now + retention))")),
		script("retention/in-seconds", "L4.retention", "Retention is kept in whole seconds.",
			onWrite("tonumber(ARGV[i + 4])", "math.floor(tonumber(ARGV[i + 4]) / 1000) * 1000")),
	}
}

// writeSplit applies a batch in two commits, the first with the conditions.
func writeSplit(ctx context.Context, l *location, w spi.WriteRequest, at int) (spi.WriteResult, error) {
	first, err := l.LocationStore.Write(ctx, spi.WriteRequest{Conditions: w.Conditions, Mutations: w.Mutations[:at]})
	begun, ok := first.(spi.Applied)
	if !ok {
		return first, err
	}
	second, err := l.LocationStore.Write(ctx, spi.WriteRequest{Mutations: w.Mutations[at:]})
	if a, ok := second.(spi.Applied); ok {
		a.PutVersions = append(begun.PutVersions, a.PutVersions...)
		return a, nil
	}
	return second, err
}

// checkThenAct checks the conditions one by one, and then commits without them.
func checkThenAct(l *location) {
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		if len(w.Conditions) > 8 { // one command each: as good as never done for long lists
			return l.LocationStore.Write(ctx, w)
		}
		for _, c := range w.Conditions {
			r, err := l.LocationStore.Write(ctx, spi.WriteRequest{Conditions: []spi.Condition{c}})
			if _, ok := r.(spi.Applied); !ok {
				return r, err
			}
		}
		if len(w.Mutations) > 0 {
			w.Conditions = nil
		}
		return l.LocationStore.Write(ctx, w)
	}
}

func changeApplied(
	l *location, change func(spi.WriteRequest, *spi.Applied),
) func(context.Context, spi.WriteRequest) (spi.WriteResult, error) {
	return func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		r, err := l.LocationStore.Write(ctx, w)
		if a, ok := r.(spi.Applied); ok {
			change(w, &a)
			return a, err
		}
		return r, err
	}
}

// size is the encoded size of a batch (L4.byte-bound).
func size(w spi.WriteRequest) int {
	n := 0
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
