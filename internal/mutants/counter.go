package mutants

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// counterMutants are Location Stores over which the framework's counters go
// wrong although the framework is right (L8).
func counterMutants() []Mutant {
	const conflict = "return {'conflict', text(now)}"
	unchecked := onWrite("if not holds then", "if false then")
	onCounters := func(change func([]byte) []byte) func(spi.Put) (spi.Put, error) {
		return func(p spi.Put) (spi.Put, error) {
			if strings.HasPrefix(string(p.Key), "zlink:") {
				p.Bytes = change(p.Bytes)
			}
			return p, nil
		}
	}
	return []Mutant{
		script("counter/keys-of-its-own", "L8.key", "Keys are mapped in another way.",
			onKeys(`opaque:(%x%x%x%x%x%x%x%x+)$`, `'opaque:own-%1'`)),
		keys("counter/one-for-all", "L8.key", "The three counters share a row.", plain(func(k string) string {
			return strings.NewReplacer("authority-owner-counter", "owner-counter", "object-counter", "owner-counter").Replace(k)
		})),
		puts("counter/quoted", "L8.decimal", "Rows of counters are stored in quotes.",
			onCounters(func(b []byte) []byte { return strconv.AppendQuote(nil, string(b)) })),
		puts("counter/numbers-are-doubles", "L8.decimal", "Numbers are kept as doubles.", onCounters(asDouble)),
		puts("counter/numbers-are-tidied", "L8.decimal", "Whole numbers are kept in their shortest form.",
			onCounters(func(b []byte) []byte {
				if n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64); err == nil {
					return strconv.AppendInt(nil, n, 10)
				}
				return b
			})),
		script("counter/empty-is-missing", "L8.decimal", "Empty values are not stored.",
			onWrite("local version = text(score)", "put = put and not (kind == 'put' and #value == 0) "+
				"local version = text(score)")),
		script("counter/values-expire", "L8.first", "A counter's row expires.",
			onWrite("if retention ~= 0 then", "expires = now + 3600000 if retention ~= 0 then")),
		script("counter/deleted-is-empty", "L8.first", "A deleted counter is an empty row.",
			onWrite("expires, not put}", "expires, false}")),
		script("counter/conflict-without-reason", "L8.first", "Now and then a batch conflicts although its conditions hold.",
			onWrite("if not holds then", "if not holds or call('GET', sequence) == '3' then")),
		puts("counter/block-gap", "L8.block", "A counter's row skips a value after a block.", func(p spi.Put) (spi.Put, error) {
			if n, err := strconv.ParseInt(string(p.Bytes), 10, 64); err == nil && strings.HasSuffix(string(p.Key), "-counter") &&
				n > 3 && n < 1<<62 {
				p.Bytes = strconv.AppendInt(nil, n+1, 10)
			}
			return p, nil
		}),
		script("counter/half-of-a-conflict", "L8.same-batch", "A conflict has written the first mutation.",
			onWrite("  if not holds then\n    "+conflict, "  if not holds then"+halfWrite+"\n    "+conflict)),
		script("counter/first-condition-decides", "L8.same-batch", "Only the first condition counts.",
			onWrite("if not holds then", "if not holds and _ == 1 then")),
		script("counter/no-condition-check", "L8.same-batch", "Conditions always hold.", unchecked),
		onLocation("counter/in-two-commits", "L8.same-batch", "The first mutation is written before the others.",
			func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					if len(w.Mutations) < 2 {
						return l.LocationStore.Write(ctx, w)
					}
					first, err := l.LocationStore.Write(ctx,
						spi.WriteRequest{Conditions: w.Conditions, Mutations: w.Mutations[:1]})
					begun, ok := first.(spi.Applied)
					if !ok {
						return first, err
					}
					time.Sleep(5 * time.Millisecond) // what a slow network has between two commands
					second, err := l.LocationStore.Write(ctx, spi.WriteRequest{Mutations: w.Mutations[1:]})
					if a, ok := second.(spi.Applied); ok {
						begun.PutVersions = append(begun.PutVersions, a.PutVersions...)
					}
					return begun, err
				}
			}),
		requests("counter/last-mutation-forgotten", "L8.same-batch", "The last of several mutations is not written.",
			func(w spi.WriteRequest) (spi.WriteRequest, error) {
				w.Mutations = w.Mutations[:max(min(1, len(w.Mutations)), len(w.Mutations)-1)]
				return w, nil
			}),
		puts("counter/saturates", "L8.exhausted", "Numbers are kept up to 2^63-2.", onCounters(func(b []byte) []byte {
			return bytes.Replace(b, []byte("9223372036854775807"), []byte("9223372036854775806"), 1)
		})),
		puts("counter/ends-as-a-double", "L8.exhausted", "The last numbers are kept as doubles.", onCounters(asDouble)),
		puts("counter/wraps", "L8.exhausted", "The last number of a counter wraps to 1.", onCounters(func(b []byte) []byte {
			return bytes.Replace(b, []byte("9223372036854775807"), []byte("1"), 1)
		})),
		onLocation("counter/race-at-the-end", "L8.exhausted", "Conditions always hold.", func(l *location) {
			l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
				time.Sleep(2 * time.Millisecond) // so that others have read the counter too
				w.Conditions = nil
				return l.LocationStore.Write(ctx, w)
			}
		}),
		script("counter/contention", "L8.contention", "Conditions always hold, so that a value is issued twice.", unchecked),
		keys("counter/retired-are-read", "L8.retired", "A retired key is another name of the counter that took its place.",
			plain(func(k string) string {
				switch k {
				case "zlink:v11:counter:object", "zlink:v11:authority:object-generation-counter":
					return "zlink:v11:object-counter"
				case "zlink:v11:counter:authority-owner", "zlink:v11:authority:owner-generation-counter":
					return "zlink:v11:authority-owner-counter"
				}
				return k
			})),
		script("counter/flushed-elsewhere", "L8.retired", "Keys are mapped in another way, so that the flush misses them.",
			onKeys(`opaque:(%x%x%x%x%x%x%x%x+)$`, `'opaque:own-%1'`)),
	}
}

func asDouble(b []byte) []byte {
	if f, err := strconv.ParseFloat(string(b), 64); err == nil {
		return strconv.AppendFloat(nil, f, 'f', 0, 64)
	}
	return b
}

const halfWrite = `
    local first = 4 + 4 * conditions
    if mutations > 0 and ARGV[first] == 'put' then
      local score = call('INCR', sequence)
      call('ZADD', ARGV[first + 1], score, '\1' .. cmsgpack.pack({ARGV[first + 2], ARGV[first + 3], text(score), 0, false}))
    end`
