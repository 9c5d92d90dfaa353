// Package interop holds the cases in which the target and the reference work
// side by side on one Redis and one key prefix, as providers in different
// languages do. Whatever goes wrong between the two is the target's: the
// reference alone passes all other suites.
package interop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/kit"
)

// Cases returns all cases of the suite, the Location Store first.
func Cases() []harness.Case {
	return slices.Concat(recordCases(), conditionCases(), sequenceCases(), scanCases(), snapshotCases(), mixedCases(),
		relocationCases())
}

var (
	locationCase   = kit.Cases("interop", harness.NeedLayout, harness.NeedLocation)
	relocationCase = kit.Cases("interop", harness.NeedLayout, harness.NeedRelocation)
)

// The words of requests; see suites/kit.
var (
	write, given         = kit.Write, kit.Given
	ifMissing, ifVersion = kit.IfMissing, kit.IfVersion
	put, putFor, del     = kit.Put, kit.PutFor, kit.Delete
)

// hour outlives every case.
const hour = 3600_000

// bothWays makes two cases of one: first the target and then the reference is
// the one that acts first. The title names them "one provider" and "the other".
func bothWays(build kit.Builder, id, title, requirements string, run func(t *harness.T, one, other party)) []harness.Case {
	target := func(t *harness.T) party { return party{t: t, provider: t.Target(), name: "the target"} }
	reference := func(t *harness.T) party { return party{t: t, provider: t.Reference(), name: "the reference"} }
	return []harness.Case{
		build(id+"-from-target", title+" One is the target.", requirements,
			func(t *harness.T) { run(t, target(t), reference(t)) }),
		build(id+"-from-reference", title+" One is the reference.", requirements,
			func(t *harness.T) { run(t, reference(t), target(t)) }),
	}
}

// about puts another requirement first in each of the cases, where each way
// judges something else of the target.
func about(mains [2]string, cases []harness.Case) []harness.Case {
	for i, main := range mains {
		c := &cases[i]
		c.Requirements = append([]string{main}, slices.DeleteFunc(slices.Clone(c.Requirements),
			func(id string) bool { return id == main })...)
	}
	return cases
}

// party is one of the two providers. Its methods end the case, citing a
// requirement, when an operation fails or answers another kind of result.
type party struct {
	t        *harness.T
	provider *harness.Provider
	name     string
	store    *harness.Location // that it works on; nil: the one on the main Redis
}

func (p party) location() *harness.Location {
	if p.store != nil {
		return p.store
	}
	return p.provider.Location()
}

// on is the party with a store on another server.
func (p party) on(s *redisenv.Server) party {
	p.store = p.provider.OpenLocation(harness.Store{Server: s})
	return p
}

func parties(t *harness.T) [2]party {
	return [2]party{{t: t, provider: t.Target(), name: "the target"}, {t: t, provider: t.Reference(), name: "the reference"}}
}

// answer returns the result if it is of the kind R, or ends the case.
func answer[R any](p party, requirement, what string, result any, err error) R {
	r, ok := result.(R)
	if err != nil {
		p.provider.Fatalf(requirement, err, "%s failed at %s", p.name, what)
	}
	if !ok {
		p.t.Fatalf(requirement, "%s answered %s to %s, expected %s", p.name, harness.Describe(result), what, kindOf[R]())
	}
	return r
}

func kindOf[R any]() string {
	var r R
	_, name, _ := strings.Cut(fmt.Sprintf("%T", r), ".")
	return strings.ToLower(name[:1]) + name[1:]
}

func (p party) read(requirement string, key spi.Key) spi.ReadResult {
	r, err := p.location().Read(p.t.Context(), key)
	return answer[spi.ReadResult](p, requirement, fmt.Sprintf("reading %.40q", key), r, err)
}

func (p party) find(requirement string, key spi.Key) spi.Found {
	return answer[spi.Found](p, requirement, fmt.Sprintf("reading %.40q", key), p.read(requirement, key), nil)
}

func (p party) miss(requirement string, key spi.Key) spi.Missing {
	return answer[spi.Missing](p, requirement, fmt.Sprintf("reading %.40q", key), p.read(requirement, key), nil)
}

func (p party) apply(requirement string, request spi.WriteRequest) spi.Applied {
	r, err := p.location().Write(p.t.Context(), request)
	return answer[spi.Applied](p, requirement, "a write "+harness.Describe(request), r, err)
}

func (p party) conflict(requirement string, request spi.WriteRequest) {
	r, err := p.location().Write(p.t.Context(), request)
	answer[spi.Conflict](p, requirement, "a write "+harness.Describe(request), r, err)
}

// put puts one value and returns its version.
func (p party) put(requirement string, key spi.Key, value string, retention *spi.Retention) spi.Version {
	a := p.apply(requirement, write(nil, spi.Put{Key: key, Bytes: []byte(value), Retention: retention}))
	if len(a.PutVersions) != 1 {
		p.t.Fatalf(requirement, "%s answered %d versions for one Put", p.name, len(a.PutVersions))
	}
	return a.PutVersions[0].Version
}

func (p party) delete(requirement string, keys ...spi.Key) {
	var w spi.WriteRequest
	for _, key := range keys {
		w.Mutations = append(w.Mutations, del(key))
	}
	p.apply(requirement, w)
}

func (p party) page(requirement string, request spi.ScanRequest) spi.Page {
	r, err := p.location().Scan(p.t.Context(), request)
	return answer[spi.Page](p, requirement, "a scan "+harness.Describe(request), r, err)
}

// finish returns the items of a page and of all that follow it, by key: the
// contract does not order them.
func (p party) finish(requirement, prefix string, limit int, page spi.Page) []spi.Item {
	items := page.Items
	for range maxPages {
		if page.Next == nil {
			slices.SortStableFunc(items, func(a, b spi.Item) int { return strings.Compare(string(a.Key), string(b.Key)) })
			return items
		}
		page = p.page(requirement, spi.ScanRequest{Prefix: prefix, Cursor: page.Next, Limit: limit})
		items = append(items, page.Items...)
	}
	p.t.Fatalf(requirement, "the scan by %s does not end within %d pages", p.name, maxPages)
	return nil
}

// maxPages ends a scan that makes no progress.
const maxPages = 2000

func (p party) scan(requirement, prefix string) []spi.Item {
	const limit = 100
	return p.finish(requirement, prefix, limit, p.page(requirement, spi.ScanRequest{Prefix: prefix, Limit: limit}))
}

// same checks that a party sees exactly this value.
func (p party) same(requirement string, key spi.Key, want spi.Value) {
	got := p.find(requirement, key).Value
	p.t.EqualBytes(requirement, fmt.Sprintf("the value of %.40q as %s reads it", key, p.name), want.Bytes, got.Bytes)
	p.t.Checkf(got.Version == want.Version, requirement, "%s reads the version %.60q of %.40q, expected %.60q", p.name,
		got.Version, key, want.Version)
	p.t.Checkf(got.ExpiresAt == want.ExpiresAt, p.t.Closest("L9.expiry-field", requirement),
		"%s reads the expiry %d of %.40q, expected %d", p.name, got.ExpiresAt, key, want.ExpiresAt)
}
