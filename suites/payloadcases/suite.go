// Package payloadcases holds the cases of payloads in chunks: the framework's side
// of splitting and joining runs over the target's own Relocation Store, so
// that what goes wrong is the store's.
package payloadcases

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/payload"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/kit"
)

// Cases returns all cases of the suite.
func Cases() []harness.Case {
	return slices.Concat(
		roundTripCases(),
		orderCases(),
		lostCases(),
		joinCases(),
		boundCases(),
		renewCases(),
		endCases(),
		goldenCases(),
		interopCases(),
	)
}

const (
	hour = spi.Millis(3600_000) // outlives every case
	day  = 24 * hour
	// late is how long after an expiry, by the bracket of the operation that set
	// it, a payload must be gone.
	late = 2
	// chunkSize is what a chunk holds in most cases.
	chunkSize = 64
)

var relocationCase = kit.Cases("payload", harness.NeedRelocation)

// framework keeps payloads in one instance of a provider.
type framework struct {
	t    *harness.T
	name string // "the target" or "the reference"
	by   *harness.Provider
	payload.Store
}

// onTarget works on the target. What it stores is checked through
// t.Relocation(), another instance.
func onTarget(t *harness.T) framework {
	return framework{t, "the target", t.Target(),
		payload.Store{Blobs: t.Target().OpenRelocation(harness.Store{}), ChunkSize: chunkSize}}
}

func onReference(t *harness.T) framework {
	return framework{t, "the reference", t.Reference(),
		payload.Store{Blobs: t.Reference().OpenRelocation(harness.Store{}), ChunkSize: chunkSize}}
}

// keeping is the framework with another retention than the default.
func (f framework) keeping(retention spi.Millis) framework {
	f.Retention = spi.Retention(retention)
	return f
}

// watched is the framework with somebody who looks on.
func (f framework) watched(before func(call string, ref spi.Reference)) framework {
	f.Blobs = watched{f.Blobs, before}
	return f
}

// watched tells of each Put and Renew before it begins.
type watched struct {
	spi.RelocationStore
	before func(call string, ref spi.Reference)
}

func (w watched) Put(ctx context.Context, ref spi.Reference, b []byte, r spi.Retention) (spi.BlobPutResult, error) {
	w.before("put", ref)
	return w.RelocationStore.Put(ctx, ref, b, r)
}

func (w watched) Renew(ctx context.Context, ref spi.Reference, r spi.Retention) (spi.BlobRenewResult, error) {
	w.before("renew", ref)
	return w.RelocationStore.Renew(ctx, ref, r)
}

func index(name string) spi.Reference { return spi.Reference(name + "/index") }

func chunk(name string, order int) spi.Reference {
	return spi.Reference(fmt.Sprintf("%s/chunk-%d", name, order))
}

func plan(name string, length int) payload.Plan {
	return payload.Plan{
		Index: index(name), Length: int64(length), InventoryDigest: sha256.Sum256([]byte(name)),
		Chunk: func(order int) spi.Reference { return chunk(name, order) },
	}
}

// put stores a payload that must fit.
func (f framework) put(requirement, name string, data []byte) payload.Index {
	x, err := f.Put(f.t.Context(), plan(name, len(data)), bytes.NewReader(data))
	if err != nil {
		f.fail(requirement, err, "storing %d bytes in %d chunks", len(data), len(x.Chunks))
	}
	return x
}

// whole joins a payload that must be there.
func (f framework) whole(requirement, name string, data []byte) payload.Index {
	var out bytes.Buffer
	x, err := f.Join(f.t.Context(), index(name), &out)
	if err != nil {
		f.fail(requirement, err, "joining the payload %q", name)
	}
	f.t.EqualBytes(requirement, "the payload "+name+" as "+f.name+" joins it", data, out.Bytes())
	return x
}

// fail ends the case.
func (f framework) fail(requirement string, err error, format string, args ...any) {
	f.by.Fatalf(requirement, err, "%s failed at %s", f.name, fmt.Sprintf(format, args...))
}

// lost checks that an operation found the payload lost, in this chunk and for
// this reason.
func (f framework) lost(what string, err error, order int, reason payload.Reason) {
	var l *payload.DataLost
	if err != nil && !errors.As(err, &l) {
		f.fail("P3.data-lost", err, "%s, expected DataLost", what)
	}
	if l == nil {
		f.t.Failf("P3.data-lost", "%s succeeded, expected DataLost", what)
		return
	}
	f.t.Checkf(l.Chunk == order && l.Reason == reason, "P3.data-lost", "%s: %v; expected chunk %d (-1 is the index) to be %s",
		what, l, order, reason)
}

// all are the references of a payload, the index last.
func all(name string, x payload.Index) []spi.Reference {
	var refs []spi.Reference
	for order := range x.Chunks {
		refs = append(refs, chunk(name, order))
	}
	return append(refs, index(name))
}

// awaitTime waits until the provider's clock shows the time.
func awaitTime(t *harness.T, at spi.Millis) {
	for t.Now() < at {
		t.Pause(5 * time.Millisecond)
	}
}
