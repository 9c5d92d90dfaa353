package model

import "slices"

// shrink returns a small script that still fails, starting from one that does.
// It removes ever smaller chunks, then simplifies and joins what is left, and
// ends when nothing helps any more or the runs are used up. Given the same answers
// it always takes the same way.
func shrink(script Script, runs int, fails func(Script) bool) Script {
	s := shrinker{script, runs, fails}
	for changed := true; changed; {
		s.remove()
		changed = s.simplify()
		changed = s.join() || changed
	}
	return s.script
}

type shrinker struct {
	script Script
	runs   int
	fails  func(Script) bool
}

// try takes the candidate if it fails too.
func (s *shrinker) try(candidate Script) bool {
	candidate = candidate.tidied()
	if s.runs == 0 || len(candidate) == 0 {
		return false
	}
	s.runs--
	if !s.fails(candidate) {
		return false
	}
	s.script = candidate
	return true
}

func (s *shrinker) remove() {
	for size := len(s.script) / 2; size > 0; {
		removed := false
		for at := len(s.script) - size; at >= 0; at -= size {
			// From the end, so that what a line depends on outlives it.
			if at+size <= len(s.script) {
				removed = s.try(slices.Concat(s.script[:at], s.script[at+size:])) || removed
			}
		}
		if !removed {
			size /= 2
		}
	}
}

// simplify makes single lines simpler and reports whether one became so.
func (s *shrinker) simplify() bool {
	changed := false
	for at := 0; at < len(s.script); at++ {
		for again := true; again; {
			again = false
			for _, simpler := range simplified(s.script[at]) {
				candidate := slices.Clone(s.script)
				candidate[at] = simpler
				if s.try(candidate) {
					changed, again = true, true
					break
				}
			}
		}
	}
	return changed
}

// join makes one line of two neighbours and reports whether it could.
func (s *shrinker) join() bool {
	joined := false
	for at := 0; at+1 < len(s.script); at++ {
		if both, ok := joinLines(s.script[at], s.script[at+1]); ok {
			joined = s.try(slices.Concat(s.script[:at], Script{both}, s.script[at+2:])) || joined
		}
	}
	return joined
}

// joinLines is one line for two batches without conditions and of different
// keys, or for two moves of the clock.
func joinLines(a, b line) (line, bool) {
	switch first := a.step.(type) {
	case writeStep:
		second, ok := b.step.(writeStep)
		ok = ok && a.byReference == b.byReference && len(first.conditions)+len(second.conditions) == 0
		for _, m := range second.mutations {
			ok = ok && !slices.ContainsFunc(first.mutations, func(o mutation) bool { return o.key == m.key })
		}
		return line{writeStep{mutations: slices.Concat(first.mutations, second.mutations)}, a.byReference}, ok
	case advanceStep:
		second, ok := b.step.(advanceStep)
		return line{step: advanceStep{first.ms + second.ms}}, ok
	}
	return line{}, false
}

// simplified lists lines that are simpler than the line.
func simplified(l line) []line {
	var out []line
	add := func(s step) { out = append(out, line{s, l.byReference}) }
	if l.byReference {
		out = append(out, line{step: l.step})
	}
	switch s := l.step.(type) {
	case writeStep:
		for i := range s.conditions {
			if len(s.conditions)+len(s.mutations) > 1 {
				add(writeStep{slices.Delete(slices.Clone(s.conditions), i, i+1), s.mutations})
			}
		}
		for i, m := range s.mutations {
			if len(s.conditions)+len(s.mutations) > 1 {
				add(writeStep{s.conditions, slices.Delete(slices.Clone(s.mutations), i, i+1)})
			}
			for _, simpler := range m.simplified() {
				mutations := slices.Clone(s.mutations)
				mutations[i] = simpler
				add(writeStep{s.conditions, mutations})
			}
		}
	case scanStep:
		if s.prefix != "" {
			add(scanStep{s.name, "", s.limit})
		}
		if s.limit > 1 {
			add(scanStep{s.name, s.prefix, 1})
		}
	case blobPutStep:
		for _, v := range s.value.simplified() {
			add(blobPutStep{s.ref, v, s.retention})
		}
	}
	return out
}

func (m mutation) simplified() []mutation {
	if m.delete {
		return nil
	}
	var out []mutation
	if m.retention != nil {
		out = append(out, mutation{key: m.key, value: m.value})
	}
	for _, v := range m.value.simplified() {
		out = append(out, mutation{key: m.key, value: v, retention: m.retention})
	}
	return out
}

func (d data) simplified() []data {
	switch {
	case d.length > 1:
		return []data{{text: "x"}, {length: d.length / 2, seed: d.seed}}
	case d.length == 1 || len(d.text) > 1:
		return []data{{text: "x"}}
	}
	return nil
}
