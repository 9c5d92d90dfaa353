package result

import "slices"

// LayoutNeed is the official Redis layout among what a target may offer; the
// others are the names of its stores and capabilities.
const LayoutNeed = "layout"

// Offers reports whether the target said that it offers this: a store, a
// capability or LayoutNeed.
func (t Target) Offers(what string) bool {
	if what == LayoutNeed {
		return t.Layout == "official"
	}
	return slices.Contains(t.Stores, what) || slices.Contains(t.Capabilities, what)
}

// Gap is a part of the contract that a run did not judge.
type Gap struct {
	What  string `json:"what,omitempty"` // what the target does not offer; "" if that was not the reason
	Cases int    `json:"cases"`
}

// NotJudged is what the run skipped, without what its user did not choose: by
// what the target does not offer, and all other reasons together at the end.
func (r Run) NotJudged() []Gap {
	var gaps []Gap
	other := 0
	for _, c := range r.Cases {
		if c.Verdict != Skipped || c.Unchosen {
			continue
		}
		i := slices.IndexFunc(c.Needs, func(need string) bool { return !r.Target.Offers(need) })
		if i < 0 {
			other++
			continue
		}
		at := slices.IndexFunc(gaps, func(g Gap) bool { return g.What == c.Needs[i] })
		if at < 0 {
			at, gaps = len(gaps), append(gaps, Gap{What: c.Needs[i]})
		}
		gaps[at].Cases++
	}
	if other > 0 {
		gaps = append(gaps, Gap{Cases: other})
	}
	return gaps
}

// Unmet is what --require names and the target does not offer. A target that
// did not say hello offers nothing that could be missed.
func (r Run) Unmet() []string {
	if len(r.Target.Stores) == 0 {
		return nil
	}
	return r.required(func(what string) bool { return !r.Target.Offers(what) })
}

// Untried is what --require names and the target offers, but no case could
// judge although some of the chosen ones are about it.
func (r Run) Untried() []string {
	return r.required(func(what string) bool {
		about := 0
		for _, c := range r.Cases {
			if !slices.Contains(c.Needs, what) || c.Unchosen {
				continue
			}
			if c.Verdict != Skipped {
				return false
			}
			about++
		}
		return about > 0
	})
}

func (r Run) required(f func(string) bool) []string {
	var out []string
	for _, what := range r.Required {
		if f(what) {
			out = append(out, what)
		}
	}
	return out
}
