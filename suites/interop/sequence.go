package interop

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// sequenceCases: one counter orders the writes of all providers
// (L9.interop-sequence), and no version is issued twice (L3.version-fresh).
func sequenceCases() []harness.Case {
	const requirement = "L9.interop-sequence"
	return []harness.Case{
		locationCase("sequence/alternating", "When the two write one key in turn, each write has the higher score "+
			"and is current for both.", requirement, alternating),
		locationCase("sequence/shared-counter", "Each commit of either provider takes its scores from the shared sequence key.",
			requirement, sharedCounter),
		locationCase("sequence/late-starter", "A provider whose first write comes after many of the other's still "+
			"writes the current value.", requirement, lateStarter),
		locationCase("version/fresh", "No version of a key is ever issued twice, whichever provider issues it and "+
			"whatever was deleted between.", "L3.version-fresh "+requirement, freshVersions),
		locationCase("concurrent/increments", "Concurrent read-and-replace loops of both providers on one key lose no update.",
			"L9.interop-read L4.version", increments),
		locationCase("concurrent/create", "Of concurrent creations of one key by both providers exactly one applies.",
			"L4.missing L9.interop-read", creations),
		locationCase("concurrent/burst", "Concurrent Puts of both providers to one key all apply, with different versions, "+
			"and both read the same at the end.", "L4.burst "+requirement+" L3.version-fresh", burst),
	}
}

func alternating(t *harness.T) {
	ps, last := parties(t), 0.0
	for i := range 30 {
		writer := ps[i%2]
		if i%5 == 4 {
			writer = ps[t.Rand().IntN(2)]
		}
		value := fmt.Sprint("value ", i)
		v := writer.put("L9.interop-sequence", "k", value, nil)
		e := raw.On(t).Current("k")
		t.Checkf(e.Score > last, "L9.interop-sequence", "the score of write %d, by %s, is %.0f, not above %.0f of the one before",
			i, writer.name, e.Score, last)
		last = e.Score
		for _, p := range ps {
			p.same("L9.interop-sequence", "k", spi.Value{Bytes: []byte(value), Version: v})
		}
	}
}

func sharedCounter(t *harness.T) {
	sequence := func() float64 {
		s, err := t.Redis().Get(t.Context(), layout.SequenceKey(t.KeyPrefix())).Result()
		if err != nil {
			t.Fatalf("L9.interop-sequence", "the shared sequence key cannot be read: %v", err)
		}
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatalf("L9.interop-sequence", "the shared sequence key holds %.40q, expected a number", s)
		}
		return n
	}
	before := 0.0
	for i := range 10 {
		p := parties(t)[i%2]
		p.put("L9.interop-sequence", "k", fmt.Sprint(i), nil)
		e, now := raw.On(t).Current("k"), sequence()
		t.Checkf(before < e.Score && e.Score <= now, "L9.interop-sequence",
			"write %d, by %s, has the score %.0f, but the shared sequence went from %.0f to %.0f by it", i, p.name, e.Score,
			before, now)
		before = now
	}
}

func lateStarter(t *harness.T) {
	ps := parties(t)
	for turn, first := range ps {
		second, key := ps[1-turn], spi.Key(fmt.Sprint("k", turn))
		for i := range 40 {
			first.put("L9.interop-sequence", key, fmt.Sprint(i), nil)
		}
		v := second.put("L9.interop-sequence", key, "last", nil)
		for _, p := range ps {
			p.same("L9.interop-sequence", key, spi.Value{Bytes: []byte("last"), Version: v})
		}
	}
}

func freshVersions(t *harness.T) {
	ps, seen := parties(t), map[spi.Version]int{}
	for i := range 60 {
		p := ps[t.Rand().IntN(2)]
		if t.Rand().IntN(4) == 0 {
			p.delete("L3.version-fresh", "k")
		}
		v := p.put("L3.version-fresh", "k", "the same bytes", nil)
		earlier, twice := seen[v]
		t.Checkf(!twice, "L3.version-fresh", "%s issued the version %.60q at Put %d, which Put %d had before", p.name, v, i,
			earlier)
		seen[v] = i
	}
}

func increments(t *harness.T) {
	const workers, each = 4, 12
	ps := parties(t)
	ps[0].put("L9.interop-read", "k", "0", nil)
	t.Concurrently(workers, func(w int) {
		p := ps[w%2]
		for done := 0; done < each; {
			f := p.find("L9.interop-read", "k")
			n, err := strconv.Atoi(string(f.Value.Bytes))
			if err != nil {
				t.Fatalf("L9.interop-read", "%s reads %.40q, expected a number", p.name, f.Value.Bytes)
			}
			r, err := p.provider.Location().Write(t.Context(),
				write(given(ifVersion("k", f.Value.Version)), put("k", strconv.Itoa(n+1))))
			if err != nil {
				p.provider.Fatalf("L9.interop-read", err, "%s failed at a write", p.name)
			}
			if _, ok := r.(spi.Applied); ok {
				done++
			}
		}
	})
	for _, p := range ps {
		t.EqualBytes("L4.version", "the sum of all applied increments as "+p.name+" reads it", []byte(strconv.Itoa(workers*each)),
			p.find("L9.interop-read", "k").Value.Bytes)
	}
}

func creations(t *harness.T) {
	ps := parties(t)
	for round := range 6 {
		key := spi.Key(fmt.Sprint("k", round))
		var mu sync.Mutex
		applied := map[string]bool{}
		t.Concurrently(6, func(w int) {
			value := fmt.Sprint("by ", w)
			r, err := ps[w%2].provider.Location().Write(t.Context(), write(given(ifMissing(key)), put(key, value)))
			if err != nil {
				ps[w%2].provider.Fatalf("L9.interop-read", err, "%s failed at a creation", ps[w%2].name)
			}
			if _, ok := r.(spi.Applied); ok {
				mu.Lock()
				defer mu.Unlock()
				applied[value] = true
			}
		})
		t.Checkf(len(applied) == 1, "L4.missing", "%d of 6 concurrent creations of a key applied, expected 1", len(applied))
		got := string(ps[0].find("L9.interop-read", key).Value.Bytes)
		t.Checkf(applied[got], "L4.missing", "the target reads %q, but what applied is %v", got, applied)
	}
}

func burst(t *harness.T) {
	const workers, each = 4, 32
	ps := parties(t)
	var mu sync.Mutex
	seen := map[spi.Version]bool{}
	t.Concurrently(workers, func(w int) {
		for i := range each {
			v := ps[w%2].put("L4.burst", "k", fmt.Sprint(w, i), nil)
			mu.Lock()
			seen[v] = true
			mu.Unlock()
		}
	})
	t.Checkf(len(seen) == workers*each, "L3.version-fresh", "%d Puts got %d different versions", workers*each, len(seen))
	last := ps[0].find("L9.interop-read", "k").Value
	ps[1].same("L9.interop-read", "k", last)
	t.Checkf(seen[last.Version], "L3.version-fresh", "the current version %.60q was issued to no Put", last.Version)
	e := raw.On(t).Current("k")
	t.Checkf(e.Member.Version == string(last.Version), "L9.interop-sequence",
		"the member with the highest score has another version than both read")
}
