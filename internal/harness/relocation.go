package harness

import (
	"context"
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Relocation is a Relocation Store whose operations are recorded as evidence;
// its Must methods are as those of Location.
type Relocation struct {
	t        *T
	provider *Provider
	inner    targets.Relocation
}

var _ targets.Relocation = (*Relocation)(nil)

// Put is RelocationStore.Put.
func (r *Relocation) Put(ctx context.Context, ref spi.Reference, payload []byte, retention spi.Retention) (spi.BlobPutResult, error) {
	return record(r.provider, fmt.Sprintf("put %s %s for %s", quote(string(ref)), describeBytes(payload), describeRetention(retention)),
		func() (spi.BlobPutResult, error) { return r.inner.Put(ctx, ref, payload, retention) })
}

// PutFill is targets.Relocation's.
func (r *Relocation) PutFill(ctx context.Context, ref spi.Reference, fill targets.Fill, retention spi.Retention) (spi.BlobPutResult, error) {
	return record(r.provider, fmt.Sprintf("put %s fill of %d bytes, seed %d, patch %v, for %s", quote(string(ref)), fill.Length, fill.Seed, fill.Patch, describeRetention(retention)),
		func() (spi.BlobPutResult, error) { return r.inner.PutFill(ctx, ref, fill, retention) })
}

// Read is RelocationStore.Read.
func (r *Relocation) Read(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
	return record(r.provider, "read "+quote(string(ref)), func() (spi.BlobReadResult, error) { return r.inner.Read(ctx, ref) })
}

// ReadDigest is targets.Relocation's.
func (r *Relocation) ReadDigest(ctx context.Context, ref spi.Reference) (targets.DigestResult, error) {
	return record(r.provider, "read "+quote(string(ref))+" (digest)", func() (targets.DigestResult, error) { return r.inner.ReadDigest(ctx, ref) })
}

// ReadHeld is targets.Relocation's.
func (r *Relocation) ReadHeld(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, targets.Recheck, error) {
	var recheck targets.Recheck
	res, err := record(r.provider, "read "+quote(string(ref))+" (held)", func() (res spi.BlobReadResult, err error) {
		res, recheck, err = r.inner.ReadHeld(ctx, ref)
		return res, err
	})
	return res, recheck, err
}

// Renew is RelocationStore.Renew.
func (r *Relocation) Renew(ctx context.Context, ref spi.Reference, retention spi.Retention) (spi.BlobRenewResult, error) {
	return record(r.provider, fmt.Sprintf("renew %s for %s", quote(string(ref)), describeRetention(retention)),
		func() (spi.BlobRenewResult, error) { return r.inner.Renew(ctx, ref, retention) })
}

// Delete is RelocationStore.Delete.
func (r *Relocation) Delete(ctx context.Context, ref spi.Reference) error {
	_, err := record(r.provider, "delete "+quote(string(ref)), func() (any, error) { return nil, r.inner.Delete(ctx, ref) })
	return err
}

// Close is RelocationStore.Close.
func (r *Relocation) Close() error {
	_, err := record(r.provider, "close relocation", func() (any, error) { return nil, r.inner.Close() })
	return err
}

// MustPut returns the result of a put that must not fail.
func (r *Relocation) MustPut(ref spi.Reference, payload []byte, retention spi.Retention) spi.BlobPutResult {
	res, err := r.Put(r.t.ctx, ref, payload, retention)
	return must(r.provider, "putting "+quote(string(ref)), res, err)
}

// MustStore puts a payload under a reference that must be free.
func (r *Relocation) MustStore(ref spi.Reference, payload []byte, retention spi.Retention) spi.Stored {
	return r.stored(ref, r.MustPut(ref, payload, retention))
}

// MustStoreFill is MustStore with described bytes.
func (r *Relocation) MustStoreFill(ref spi.Reference, fill targets.Fill, retention spi.Retention) spi.Stored {
	res, err := r.PutFill(r.t.ctx, ref, fill, retention)
	return r.stored(ref, must(r.provider, "putting "+quote(string(ref)), res, err))
}

func (r *Relocation) stored(ref spi.Reference, res spi.BlobPutResult) spi.Stored {
	return mustBe[spi.Stored](r.provider, "putting "+quote(string(ref)), "stored", res)
}

// MustRead returns the result of a read that must not fail.
func (r *Relocation) MustRead(ref spi.Reference) spi.BlobReadResult {
	res, err := r.Read(r.t.ctx, ref)
	return must(r.provider, "reading "+quote(string(ref)), res, err)
}

// MustFind returns a payload that must be there.
func (r *Relocation) MustFind(ref spi.Reference) spi.BlobFound {
	return mustBe[spi.BlobFound](r.provider, "reading "+quote(string(ref)), "found", r.MustRead(ref))
}

// MustMiss returns the answer for a reference that must be absent.
func (r *Relocation) MustMiss(ref spi.Reference) spi.Missing {
	return mustBe[spi.Missing](r.provider, "reading "+quote(string(ref)), "missing", r.MustRead(ref))
}

// MustRenew renews a reference that must be there.
func (r *Relocation) MustRenew(ref spi.Reference, retention spi.Retention) spi.Renewed {
	res, err := r.Renew(r.t.ctx, ref, retention)
	must(r.provider, "renewing "+quote(string(ref)), res, err)
	return mustBe[spi.Renewed](r.provider, "renewing "+quote(string(ref)), "renewed", res)
}

// MustDelete deletes a reference, which must succeed whether it is there or not.
func (r *Relocation) MustDelete(ref spi.Reference) {
	if err := r.Delete(r.t.ctx, ref); err != nil {
		r.provider.fatal("deleting "+quote(string(ref)), err)
	}
}
