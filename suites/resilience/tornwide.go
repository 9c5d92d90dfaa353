package resilience

import (
	"context"
	"fmt"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// wideRaces are those of operations so large that a provider may send them in
// parts.
var wideRaces = []race{
	{"wide-lost-create-first", "A write under 2,048 conditions during which somebody creates its first key never overwrites " +
		"it, and applies whole or not at all.",
		"L4.all-or-nothing", &location, func(w *wiring, name string) contest { return wideLostCreate(w, name, 0) }},
	{"wide-lost-create-last", "A write under 2,048 conditions during which somebody creates its last key never overwrites it, " +
		"and applies whole or not at all.",
		"L4.all-or-nothing", &location, func(w *wiring,
			name string) contest {
			return wideLostCreate(w, name, spi.MaxBatchKeys-1)
		}},
	{"wide-isolation", "Who reads during a write of 2,048 keys and has seen a part of it sees the rest too.",
		"L4.isolation", &location, func(w *wiring, name string) contest { return wideIsolation(w, name, spi.MaxBatchKeys, "") }},
	{"large-isolation", "Who reads during a write of 3.75 MiB and has seen a part of it sees the rest too.",
		"L4.isolation", &location, func(w *wiring, name string) contest {
			return wideIsolation(w, name, 15, strings.Repeat(".", 256<<10-16))
		}},
	{"large-value-read", "A Read of a value of 1 MiB during which it is deleted and put anew shows one of the two values.",
		"L2.observation", &location, largeValueRead},
	{"large-payload-delete", "A Read of a payload of 5 MiB during which it is deleted shows all of it or Missing.",
		"R4.read", &relocation, func(w *wiring, name string) contest { return largePayloadRead(w, name, "") }},
	{"large-payload-anew", "A Read of a payload of 5 MiB during which it is deleted and another is put shows one of the two.",
		"R4.read", &relocation, func(w *wiring, name string) contest { return largePayloadRead(w, name, largePayload('n')) }},
	{"large-payload-put", "Who reads during a Put of a payload of 5 MiB finds all of it or nothing.",
		"R4.put R4.read", &relocation, largePayloadPut},
}

// wideKeys are the keys of a batch, and some of them that stand for all parts
// in which a provider may write it.
func wideKeys(name string, n int) (all, some []spi.Key) {
	for i := range n {
		all = append(all, spi.Key(fmt.Sprintf("%s/%04d", name, i)))
	}
	for part := range 5 {
		some = append(some, all[part*(n-1)/4])
	}
	return all, some
}

func putEach(keys []spi.Key, bytes string) []spi.Mutation {
	var mutations []spi.Mutation
	for _, k := range keys {
		mutations = append(mutations, put(k, bytes))
	}
	return mutations
}

// wideLostCreate races a batch, which creates each of its keys if it is missing,
// with a Put of one of them, which is there in the end whatever the order.
func wideLostCreate(w *wiring, name string, at int) contest {
	const theirs = "the other's bytes"
	keys, some := wideKeys(name, spi.MaxBatchKeys)
	request := write(nil, putEach(keys, newBytes)...)
	for _, k := range keys {
		request.Conditions = append(request.Conditions, ifMissing(k))
	}
	return contest{
		do:     func(ctx context.Context) (any, error) { return w.location.Write(ctx, request) },
		change: func() { w.sideLocation.MustPut(keys[at], []byte(theirs), nil) },
		wrong: func(answer any) string {
			if now := stateOf(w.sideLocation.MustRead(keys[at])); now.bytes != theirs {
				return fmt.Sprintf("of the other's write of %q %s", keys[at], now)
			}
			_, applied := answer.(spi.Applied)
			for _, k := range some {
				if now := stateOf(w.sideLocation.MustRead(k)); k != keys[at] && now.exists != applied {
					return fmt.Sprintf("of %q %s", k, now)
				}
			}
			return ""
		},
	}
}

// wideIsolation lets somebody read some keys of a batch there and back while it
// is written: once one of them is there, the others are.
func wideIsolation(w *wiring, name string, n int, tail string) contest {
	keys, some := wideKeys(name, n)
	request := write(nil, putEach(keys, newBytes+tail)...)
	var torn string
	return contest{
		do: func(ctx context.Context) (any, error) { return w.location.Write(ctx, request) },
		change: func() {
			var seen spi.Key
			for i := range 2 * len(some) {
				k := some[min(i, 2*len(some)-1-i)]
				_, there := w.sideLocation.MustRead(k).(spi.Found)
				if there && seen == "" {
					seen = k
				} else if !there && seen != "" {
					torn = fmt.Sprintf("%q was there, and after that %q was still missing", seen, k)
				}
			}
		},
		wrong: func(any) string { return torn },
	}
}

// largePayload is long, and every part of it tells whose it is.
func largePayload(of byte) string { return strings.Repeat(string(of), 5<<20) }

// whose says which of the long contents an answer shows: all of one of them,
// or not.
func whose(bytes string, contents ...string) string {
	for _, c := range contents {
		if bytes == c {
			return ""
		}
	}
	if bytes == "" {
		return "it is empty"
	}
	return fmt.Sprintf("the %d bytes begin with %q and end in %q, which nobody put like that", len(bytes), bytes[0],
		bytes[len(bytes)-1])
}

func largeValueRead(w *wiring, name string) contest {
	key := spi.Key(name)
	before, after := strings.Repeat("o", spi.MaxValueBytes), strings.Repeat("n", spi.MaxValueBytes)
	w.sideLocation.MustPut(key, []byte(before), nil)
	return contest{
		do: w.read(key),
		change: func() {
			w.sideLocation.MustDelete(key)
			w.sideLocation.MustPut(key, []byte(after), nil)
		},
		wrong: func(answer any) string {
			if got := stateOf(answer); got.exists {
				return whose(got.bytes, before, after)
			}
			return ""
		},
	}
}

// largePayloadRead races a Read with a Delete, and with a Put of other bytes if
// there are any.
func largePayloadRead(w *wiring, name, after string) contest {
	ref, before := spi.Reference(name), largePayload('o')
	w.sideRelocation.MustStore(ref, []byte(before), spi.Retention(hour))
	return contest{
		do: w.readBlob(name),
		change: func() {
			w.sideRelocation.MustDelete(ref)
			if after != "" {
				w.sideRelocation.MustStore(ref, []byte(after), spi.Retention(hour))
			}
		},
		wrong: func(answer any) string {
			if got := stateOf(answer); got.exists {
				return whose(got.bytes, before, after)
			}
			return ""
		},
	}
}

func largePayloadPut(w *wiring, name string) contest {
	ref, payload := spi.Reference(name), largePayload('n')
	var torn string
	return contest{
		do: func(ctx context.Context) (any, error) {
			return w.relocation.Put(ctx, ref, []byte(payload), spi.Retention(hour))
		},
		change: func() {
			if got := w.lookAt(name)(); got.exists {
				torn = whose(got.bytes, payload)
			}
		},
		wrong: func(any) string {
			if torn == "" {
				torn = whose(w.lookAt(name)().bytes, payload)
			}
			return torn
		},
	}
}

// stumpCases: what is left of a large Put that lost its connection.
func stumpCases() []harness.Case {
	return []harness.Case{
		relocationCase("torn/large-payload-cut",
			"A Put of 5 MiB that loses its connection leaves all of the payload, with its expiry, or "+
				"nothing, and can be repeated.",
			"R5.reconcile R5.unknown-outcome R4.put", largePayloadCut),
	}
}

// largePayloadCut aims at each command of the Put.
func largePayloadCut(t *harness.T) {
	payload := largePayload('n')
	put := operation{title: "a Put of 5 MiB", kind: &relocation, prepare: func(w *wiring, name string) attempt {
		ref := spi.Reference(name)
		return attempt{
			do: func(ctx context.Context) (any, error) {
				return w.relocation.Put(ctx, ref, []byte(payload), spi.Retention(hour))
			},
			look: w.lookAt(name),
			lie: func(answer any, now state) string {
				switch answer.(type) {
				case spi.Stored, spi.AlreadyStored:
					return whose(now.bytes, payload)
				}
				return "the reference was free"
			},
		}
	}}
	w := open(t, &relocation, 0)
	for _, n := range each(w.commands(put)) {
		for _, l := range losses {
			w.warm()
			name := w.name(put)
			a := put.prepare(w, name)
			w.proxy.Arm(redisenv.Match{}.Number(n), l.action())
			o := a.run(t.Context())
			w.heal()
			what := fmt.Sprintf("a Put of 5 MiB that %s", fmt.Sprintf(l.title, fmt.Sprint("command ", n)))
			w.failed(what, a, o)
			if now := a.look(); now.exists {
				if torn := whose(now.bytes, payload); torn != "" {
					t.Failf("R4.put", "after %s %s", what, torn)
				}
			}
			// A stump that no Read shows would stand in the way of the repetition.
			r := w.sideRelocation.MustPut(spi.Reference(name), []byte(payload), spi.Retention(hour))
			_, conflict := r.(spi.Conflict)
			t.Checkf(!conflict, "R5.reconcile", "after %s the same Put again answered a conflict", what)
			w.sideRelocation.MustDelete(spi.Reference(name))
		}
	}
}
