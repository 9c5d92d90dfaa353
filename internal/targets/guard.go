package targets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"slices"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// GuardLocation treats the buffers of a provider's store as Location promises:
// the provider gets copies of the inputs, which are overwritten when the
// operation has ended (L6.input-bytes).
func GuardLocation(store spi.LocationStore) Location { return &guardedLocation{store} }

// GuardRelocation is GuardLocation for a Relocation Store.
func GuardRelocation(store spi.RelocationStore) Relocation { return &guardedRelocation{store} }

type guardedLocation struct{ store spi.LocationStore }

func (g *guardedLocation) Read(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
	return await(ctx, "location.read", func(ctx context.Context) (spi.ReadResult, error) {
		return answered(g.store.Read(ctx, key))
	})
}

func (g *guardedLocation) ReadHeld(ctx context.Context, key spi.Key) (spi.ReadResult, Recheck, error) {
	r, err := g.Read(ctx, key)
	found, ok := r.(spi.Found)
	if !ok {
		return r, held(nil), err
	}
	own := found.Value.Bytes
	found.Value.Bytes = bytes.Clone(own)
	return found, held(own), nil
}

func (g *guardedLocation) Write(ctx context.Context, request spi.WriteRequest) (spi.WriteResult, error) {
	own, buffers := copyWrite(request)
	return await(ctx, "location.write", func(ctx context.Context) (spi.WriteResult, error) {
		defer scribble(buffers...)
		return answered(g.store.Write(ctx, own))
	})
}

// copyWrite returns a copy of the request and the buffers in it.
func copyWrite(request spi.WriteRequest) (own spi.WriteRequest, buffers [][]byte) {
	own = spi.WriteRequest{Conditions: slices.Clone(request.Conditions), Mutations: slices.Clone(request.Mutations)}
	for i, c := range own.Conditions {
		if v, ok := c.(spi.ValueCondition); ok {
			v.Expected = bytes.Clone(v.Expected)
			buffers = append(buffers, v.Expected)
			own.Conditions[i] = v
		}
	}
	for i, m := range own.Mutations {
		if p, ok := m.(spi.Put); ok {
			p.Bytes = bytes.Clone(p.Bytes)
			buffers = append(buffers, p.Bytes)
			own.Mutations[i] = p
		}
	}
	return own, buffers
}

func (g *guardedLocation) Scan(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
	return await(ctx, "location.scan", func(ctx context.Context) (spi.ScanResult, error) {
		return answered(g.store.Scan(ctx, request))
	})
}

func (g *guardedLocation) Close() error { return closeGuarded(g.store) }

type guardedRelocation struct{ store spi.RelocationStore }

func (g *guardedRelocation) Put(ctx context.Context, ref spi.Reference, payload []byte,
	retention spi.Retention) (spi.BlobPutResult, error) {
	return g.put(ctx, ref, bytes.Clone(payload), retention)
}

func (g *guardedRelocation) PutFill(ctx context.Context, ref spi.Reference, fill Fill,
	retention spi.Retention) (spi.BlobPutResult, error) {
	if err := fill.Check(); err != nil {
		return nil, &spi.Error{Kind: spi.KindInternal, Message: err.Error()}
	}
	return g.put(ctx, ref, fill.Bytes(), retention)
}

func (g *guardedRelocation) put(
	ctx context.Context, ref spi.Reference, own []byte, retention spi.Retention,
) (spi.BlobPutResult, error) {
	return await(ctx, "relocation.put", func(ctx context.Context) (spi.BlobPutResult, error) {
		defer scribble(own)
		return answered(g.store.Put(ctx, ref, own, retention))
	})
}

func (g *guardedRelocation) Read(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
	return await(ctx, "relocation.read", func(ctx context.Context) (spi.BlobReadResult, error) {
		return answered(g.store.Read(ctx, ref))
	})
}

func (g *guardedRelocation) ReadHeld(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, Recheck, error) {
	r, err := g.Read(ctx, ref)
	found, ok := r.(spi.BlobFound)
	if !ok {
		return r, held(nil), err
	}
	own := found.Bytes
	found.Bytes = bytes.Clone(own)
	return found, held(own), nil
}

func (g *guardedRelocation) ReadDigest(ctx context.Context, ref spi.Reference) (DigestResult, error) {
	r, err := g.Read(ctx, ref)
	switch r := r.(type) {
	case spi.BlobFound:
		return DigestResult{Found: true, Length: int64(len(r.Bytes)), SHA256: sha256.Sum256(r.Bytes),
			ExpiresAt: r.ExpiresAt, StoreNow: r.StoreNow}, nil
	case spi.Missing:
		return DigestResult{StoreNow: r.StoreNow}, nil
	}
	return DigestResult{}, err
}

func (g *guardedRelocation) Renew(ctx context.Context, ref spi.Reference, retention spi.Retention) (spi.BlobRenewResult, error) {
	return await(ctx, "relocation.renew", func(ctx context.Context) (spi.BlobRenewResult, error) {
		return answered(g.store.Renew(ctx, ref, retention))
	})
}

func (g *guardedRelocation) Delete(ctx context.Context, ref spi.Reference) error {
	_, err := await(ctx, "relocation.delete", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, g.store.Delete(ctx, ref)
	})
	return err
}

func (g *guardedRelocation) Close() error { return closeGuarded(g.store) }

func closeGuarded(store Store) error {
	ctx, cancel := BoundClose()
	defer cancel()
	_, err := await(ctx, "close", func(context.Context) (struct{}, error) { return struct{}{}, store.Close() })
	return err
}

// answered is a provider's answer, which is a result or an error.
func answered[R any](result R, err error) (R, error) {
	if err == nil && any(result) == nil {
		err = &spi.Error{Kind: spi.KindInternal, Message: "the provider returned neither a result nor an error"}
	}
	if err != nil {
		var none R
		return none, err
	}
	return result, nil
}

// held answers a copy of what the provider's buffer holds when it is asked.
func held(own []byte) Recheck {
	return func(context.Context) ([]byte, error) { return bytes.Clone(own), nil }
}

var ones = bytes.Repeat([]byte{0xff}, 4096)

// scribble inverts every byte of the buffers.
func scribble(buffers ...[]byte) {
	for _, b := range buffers {
		for len(b) > 0 {
			b = b[subtle.XORBytes(b, b, ones):]
		}
	}
}
