package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Location is a Location Store whose operations are recorded as evidence. The
// methods of targets.Location answer as the provider does; the Must methods
// end the case when the answer is not the one that the step needs, citing the
// case's main requirement.
type Location struct {
	t        *T
	provider *Provider
	inner    targets.Location
}

var _ targets.Location = (*Location)(nil)

// Read is LocationStore.Read.
func (l *Location) Read(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
	return record(l.provider, "read "+quote(string(key)), func() (spi.ReadResult, error) { return l.inner.Read(ctx, key) })
}

// Write is LocationStore.Write.
func (l *Location) Write(ctx context.Context, request spi.WriteRequest) (spi.WriteResult, error) {
	return record(l.provider, "write "+Describe(request), func() (spi.WriteResult, error) { return l.inner.Write(ctx, request) })
}

// Scan is LocationStore.Scan.
func (l *Location) Scan(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
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
	return must(l.provider, "reading "+quote(string(key)), res, err)
}

// MustFind returns a value that must be there.
func (l *Location) MustFind(key spi.Key) spi.Found {
	return mustBe[spi.Found](l.provider, "reading "+quote(string(key)), "found", l.MustRead(key))
}

// MustMiss returns the answer for a key that must be absent.
func (l *Location) MustMiss(key spi.Key) spi.Missing {
	return mustBe[spi.Missing](l.provider, "reading "+quote(string(key)), "missing", l.MustRead(key))
}

// MustWrite returns the result of a write that must not fail.
func (l *Location) MustWrite(request spi.WriteRequest) spi.WriteResult {
	res, err := l.Write(l.t.ctx, request)
	return must(l.provider, "writing "+Describe(request), res, err)
}

// MustApply returns the result of a write that must apply.
func (l *Location) MustApply(request spi.WriteRequest) spi.Applied {
	return mustBe[spi.Applied](l.provider, "writing "+Describe(request), "applied", l.MustWrite(request))
}

// MustConflict returns the result of a write that must conflict.
func (l *Location) MustConflict(request spi.WriteRequest) spi.Conflict {
	return mustBe[spi.Conflict](l.provider, "writing "+Describe(request), "conflict", l.MustWrite(request))
}

// MustPut puts one value without conditions and returns its version; a nil
// retention makes it durable.
func (l *Location) MustPut(key spi.Key, value []byte, retention *spi.Retention) spi.Version {
	a := l.MustApply(spi.WriteRequest{Mutations: []spi.Mutation{spi.Put{Key: key, Bytes: value, Retention: retention}}})
	if len(a.PutVersions) != 1 || a.PutVersions[0].Key != key {
		l.provider.unexpected("putting "+quote(string(key)), "one version, for that key", a)
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
	must(l.provider, "scanning "+Describe(request), r, err)
	return mustBe[spi.Page](l.provider, "scanning "+Describe(request), "a page", r)
}

// MustScan returns the items of all pages of one snapshot.
func (l *Location) MustScan(prefix string, limit int) []spi.Item {
	return l.MustFinish(prefix, limit, l.MustPage(spi.ScanRequest{Prefix: prefix, Limit: limit}))
}

// MustFinish returns the items of the given page and of all that follow it.
func (l *Location) MustFinish(prefix string, limit int, page spi.Page) []spi.Item {
	items := page.Items
	for pages := 1; page.Next != nil; pages++ {
		if pages > maxPages {
			l.provider.unexpected("scanning "+quote(prefix), fmt.Sprintf("an end within %d pages", maxPages), page)
		}
		page = l.MustPage(spi.ScanRequest{Prefix: prefix, Cursor: page.Next, Limit: limit})
		items = append(items, page.Items...)
	}
	return items
}

// maxPages ends a scan that makes no progress; no case needs as many.
const maxPages = 20000

// record runs an operation, notes it with its answer as evidence, and ends the
// case if the target's process is in trouble.
func record[R any](p *Provider, what string, f func() (R, error)) (R, error) {
	start := time.Now()
	r, err := f()
	p.t.op(fmt.Sprintf("%s: %s%s (%.1f ms)", p.name, clip(what, maxOperationBytes), answer(r, err), time.Since(start).Seconds()*1000))
	p.t.trouble(err)
	return r, err
}

// must ends the case if an operation that must succeed failed.
func must[R any](p *Provider, what string, r R, err error) R {
	if err != nil {
		p.fatal(what, err)
	}
	return r
}

// mustBe ends the case if an operation answered another result than W, which
// want names.
func mustBe[W any](p *Provider, what, want string, result any) W {
	w, ok := result.(W)
	if !ok {
		p.unexpected(what, want, result)
	}
	return w
}
