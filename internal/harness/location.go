package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Location is a Location Store whose operations are recorded as evidence. The
// methods of targets.Location answer as the provider does; the Must methods
// end the case when the answer is not the one that the step needs. They cite
// what Citing says, else of the requirements that speak of the step the first
// that the case declares, else the case's main one.
type Location struct {
	t        *T
	provider *Provider
	inner    targets.Location
	cite     string // "": the closest
}

var _ targets.Location = (*Location)(nil)

// Citing is the same store, of which the Must methods cite the requirement.
func (l *Location) Citing(requirement string) *Location {
	cited := *l
	cited.cite = requirement
	return &cited
}

// scanning begins what a step says of itself when it is a scan.
const scanning = "scanning "

// step is what an operation answered, and what to cite if it may not.
func (l *Location) step(what string, err error, candidates ...string) step {
	shared := []string{"L9.interop-read"}
	if strings.HasPrefix(what, scanning) {
		shared = []string{"L9.interop-snapshot", "L9.interop-scan", "L9.interop-read"}
	}
	requirement := l.cite
	if requirement == "" {
		requirement = l.t.Closest(l.provider.besides(shared, candidates)...)
	}
	return step{l.provider, requirement, what, err}
}

// Read is LocationStore.Read.
func (l *Location) Read(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
	return record(l.provider, "read "+quote(string(key)), func() (spi.ReadResult, error) { return l.inner.Read(ctx, key) })
}

// Write is LocationStore.Write.
func (l *Location) Write(ctx context.Context, request spi.WriteRequest) (spi.WriteResult, error) {
	return record(l.provider, "write "+Describe(request), func() (spi.WriteResult, error) { return l.inner.Write(ctx, request) })
}

// Scan is LocationStore.Scan. It skips the case when a scan is Expired that was
// so slow that it may be.
func (l *Location) Scan(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
	sent := time.Now()
	r, err := l.ScanOfAnyAge(ctx, request)
	l.t.followScan(request, sent, r)
	return r, err
}

// ScanOfAnyAge is Scan for a case that itself judges how old a scan may be.
func (l *Location) ScanOfAnyAge(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
	return record(l.provider, "scan "+Describe(request), func() (spi.ScanResult, error) { return l.inner.Scan(ctx, request) })
}

// ReadHeld is targets.Location's.
func (l *Location) ReadHeld(ctx context.Context, key spi.Key) (spi.ReadResult, targets.Recheck, error) {
	var recheck targets.Recheck
	r, err := record(l.provider, "read "+quote(string(key))+" (held)", func() (r spi.ReadResult, err error) {
		r, recheck, err = l.inner.ReadHeld(ctx, key)
		return r, err
	})
	return r, recheck, err
}

// Close is LocationStore.Close.
func (l *Location) Close() error {
	_, err := record(l.provider, "close location", func() (any, error) { return nil, l.inner.Close() })
	return err
}

// MustRead returns the result of a read that must not fail.
func (l *Location) MustRead(key spi.Key) spi.ReadResult {
	res, err := l.Read(l.t.ctx, key)
	return must(l.step("reading "+quote(string(key)), err), res)
}

// MustFind returns a value that must be there.
func (l *Location) MustFind(key spi.Key) spi.Found {
	res, err := l.Read(l.t.ctx, key)
	return mustBe[spi.Found](l.step("reading "+quote(string(key)), err, "L3.value-durable", "L4.put"), "found", res)
}

// MustMiss returns the answer for a key that must be absent.
func (l *Location) MustMiss(key spi.Key) spi.Missing {
	res, err := l.Read(l.t.ctx, key)
	s := l.step("reading "+quote(string(key)), err, raised(err, "L6.closed-results", "L4.delete", "L3.expired-missing")...)
	return mustBe[spi.Missing](s, "missing", res)
}

// MustWrite returns the result of a write that must not fail.
func (l *Location) MustWrite(request spi.WriteRequest) spi.WriteResult {
	res, err := l.Write(l.t.ctx, request)
	return must(l.step("writing "+Describe(request), err, speaksOf(request)...), res)
}

// MustApply returns the result of a write that must apply.
func (l *Location) MustApply(request spi.WriteRequest) spi.Applied {
	res, err := l.Write(l.t.ctx, request)
	return mustBe[spi.Applied](l.step("writing "+Describe(request), err, speaksOf(request)...), "applied", res)
}

// MustConflict returns the result of a write that must conflict.
func (l *Location) MustConflict(request spi.WriteRequest) spi.Conflict {
	res, err := l.Write(l.t.ctx, request)
	s := l.step("writing "+Describe(request), err, raised(err, "L6.closed-results", speaksOf(request)...)...)
	return mustBe[spi.Conflict](s, "conflict", res)
}

// MustPut puts one value without conditions and returns its version; a nil
// retention makes it durable.
func (l *Location) MustPut(key spi.Key, value []byte, retention *spi.Retention) spi.Version {
	a := l.MustApply(spi.WriteRequest{Mutations: []spi.Mutation{spi.Put{Key: key, Bytes: value, Retention: retention}}})
	if len(a.PutVersions) != 1 || a.PutVersions[0].Key != key {
		l.step("putting "+quote(string(key)), nil, "L4.applied", "L4.put").unexpected("one version, for that key", a)
	}
	return a.PutVersions[0].Version
}

// MustDelete deletes keys in one batch without conditions.
func (l *Location) MustDelete(keys ...spi.Key) spi.Applied {
	var w spi.WriteRequest
	for _, k := range keys {
		w.Mutations = append(w.Mutations, spi.Delete{Key: k})
	}
	return l.MustApply(w)
}

// MustPage returns a page of a scan that must not fail or be expired.
func (l *Location) MustPage(request spi.ScanRequest) spi.Page {
	r, err := l.Scan(l.t.ctx, request)
	candidates := []string{"L5.complete"}
	if request.Cursor != nil {
		candidates = []string{"L5.snapshot", "L5.complete"}
	}
	return mustBe[spi.Page](l.step(scanning+Describe(request), err, candidates...), "a page", r)
}

// MustScan returns the items of all pages of one snapshot.
func (l *Location) MustScan(prefix string, limit int) []spi.Item {
	return l.MustFinish(prefix, limit, l.MustPage(spi.ScanRequest{Prefix: prefix, Limit: limit}))
}

// MustFinish returns the items of the given page and of all that follow it.
func (l *Location) MustFinish(prefix string, limit int, page spi.Page) []spi.Item {
	items := page.Items
	var progress ScanProgress
	for page.Next != nil {
		if progress.Idle(page) > maxIdlePages {
			l.step(scanning+quote(prefix), nil, "L5.complete", "L5.limit").unexpected(
				fmt.Sprintf("an item or an end within %d pages", maxIdlePages), page)
		}
		page = l.MustPage(spi.ScanRequest{Prefix: prefix, Cursor: page.Next, Limit: limit})
		items = append(items, page.Items...)
	}
	return items
}

// maxIdlePages ends a scan that makes no progress. Pages may be short or empty,
// so it is far above what any case needs.
const maxIdlePages = 2000

// ScanProgress follows the pages of one scan.
type ScanProgress struct {
	shown map[spi.Key]bool
	idle  int
}

// Idle takes the next page, and returns how many in a row, it included, have
// shown no key that the pages before them had not shown.
func (p *ScanProgress) Idle(page spi.Page) int {
	if p.shown == nil {
		p.shown = map[spi.Key]bool{}
	}
	p.idle++
	for _, i := range page.Items {
		if !p.shown[i.Key] {
			p.shown[i.Key], p.idle = true, 0
		}
	}
	return p.idle
}

// speaksOf are the requirements that speak of a write: those of its
// conditions, or without any those of its mutations.
func speaksOf(w spi.WriteRequest) []string {
	var ids []string
	for _, c := range w.Conditions {
		switch c.(type) {
		case spi.MissingCondition:
			ids = append(ids, "L4.missing")
		case spi.VersionCondition:
			ids = append(ids, "L4.version")
		case spi.ValueCondition:
			ids = append(ids, "L4.value")
		}
	}
	if len(ids) > 0 {
		return slices.Compact(ids)
	}
	for _, m := range w.Mutations {
		switch m.(type) {
		case spi.Put:
			ids = append(ids, "L4.put")
		case spi.Delete:
			ids = append(ids, "L4.delete")
		}
	}
	return slices.Compact(ids)
}

// record runs an operation, notes it with its answer as evidence, and ends the
// case if the target's process is in trouble.
func record[R any](p *Provider, what string, f func() (R, error)) (R, error) {
	start := time.Now()
	r, err := f()
	p.t.op(fmt.Sprintf("%s: %s%s (%.1f ms)", p.name, clip(what, maxOperationBytes), answer(r, err),
		time.Since(start).Seconds()*1000))
	p.t.trouble(err)
	return r, err
}

// step is an operation that must succeed, and the requirement that is broken
// if it does not.
type step struct {
	provider    *Provider
	requirement string
	what        string
	err         error
}

// raised are the candidates for an operation that must answer another result
// than success: an error in its place breaks, above all, what says that it is
// one.
func raised(err error, closed string, candidates ...string) []string {
	if err != nil {
		return append([]string{closed}, candidates...)
	}
	return candidates
}

func (s step) unexpected(want string, got any) {
	s.provider.unexpected(s.requirement, s.what, want, got)
}

// must ends the case if an operation that must succeed failed.
func must[R any](s step, r R) R {
	if s.err != nil {
		s.provider.fatal(s.requirement, s.what, s.err)
	}
	return r
}

// mustBe ends the case if an operation failed, or answered another result than
// W, which want names.
func mustBe[W any](s step, want string, result any) W {
	w, ok := must(s, result).(W)
	if !ok {
		s.unexpected(want, result)
	}
	return w
}
