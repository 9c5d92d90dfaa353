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
	cite     string // "": the closest
}

var _ targets.Relocation = (*Relocation)(nil)

// Citing is the same store, of which the Must methods cite the requirement.
func (r *Relocation) Citing(requirement string) *Relocation {
	cited := *r
	cited.cite = requirement
	return &cited
}

func (r *Relocation) step(what string, ref spi.Reference, err error, candidates ...string) step {
	requirement := r.cite
	if requirement == "" {
		requirement = r.t.Closest(r.provider.besides([]string{"R8.interop-read"}, candidates)...)
	}
	return step{r.provider, requirement, what + " " + quote(string(ref)), err}
}

// Put is RelocationStore.Put.
func (r *Relocation) Put(
	ctx context.Context, ref spi.Reference, payload []byte, retention spi.Retention,
) (spi.BlobPutResult, error) {
	return record(r.provider, fmt.Sprintf("put %s %s for %s", quote(string(ref)), describeBytes(payload),
		describeRetention(retention)),
		func() (spi.BlobPutResult, error) { return r.inner.Put(ctx, ref, payload, retention) })
}

// PutFill is targets.Relocation's.
func (r *Relocation) PutFill(ctx context.Context, ref spi.Reference, fill targets.Fill,
	retention spi.Retention) (spi.BlobPutResult, error) {
	return record(r.provider, fmt.Sprintf("put %s fill of %d bytes, seed %d, patch %v, for %s", quote(string(ref)), fill.Length,
		fill.Seed, fill.Patch, describeRetention(retention)),
		func() (spi.BlobPutResult, error) { return r.inner.PutFill(ctx, ref, fill, retention) })
}

// Read is RelocationStore.Read.
func (r *Relocation) Read(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
	return record(r.provider, "read "+quote(string(ref)), func() (spi.BlobReadResult, error) { return r.inner.Read(ctx, ref) })
}

// ReadDigest is targets.Relocation's.
func (r *Relocation) ReadDigest(ctx context.Context, ref spi.Reference) (targets.DigestResult, error) {
	return record(r.provider, "read "+quote(string(ref))+" (digest)",
		func() (targets.DigestResult, error) { return r.inner.ReadDigest(ctx, ref) })
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
	return must(r.step("putting", ref, err, "R4.put"), res)
}

// MustStore puts a payload under a reference that must be free.
func (r *Relocation) MustStore(ref spi.Reference, payload []byte, retention spi.Retention) spi.Stored {
	res, err := r.Put(r.t.ctx, ref, payload, retention)
	return mustBe[spi.Stored](r.step("putting", ref, err, "R4.put"), "stored", res)
}

// MustStoreFill is MustStore with described bytes.
func (r *Relocation) MustStoreFill(ref spi.Reference, fill targets.Fill, retention spi.Retention) spi.Stored {
	res, err := r.PutFill(r.t.ctx, ref, fill, retention)
	return mustBe[spi.Stored](r.step("putting", ref, err, "R4.put"), "stored", res)
}

// MustRead returns the result of a read that must not fail.
func (r *Relocation) MustRead(ref spi.Reference) spi.BlobReadResult {
	res, err := r.Read(r.t.ctx, ref)
	return must(r.step("reading", ref, err, "R4.read"), res)
}

// MustFind returns a payload that must be there.
func (r *Relocation) MustFind(ref spi.Reference) spi.BlobFound {
	res, err := r.Read(r.t.ctx, ref)
	return mustBe[spi.BlobFound](r.step("reading", ref, err, "R4.read", "R4.put"), "found", res)
}

// MustMiss returns the answer for a reference that must be absent.
func (r *Relocation) MustMiss(ref spi.Reference) spi.Missing {
	res, err := r.Read(r.t.ctx, ref)
	return mustBe[spi.Missing](r.step("reading", ref, err, raised(err, "R5.closed-results", "R4.read", "R4.delete")...),
		"missing", res)
}

// MustRenew renews a reference that must be there.
func (r *Relocation) MustRenew(ref spi.Reference, retention spi.Retention) spi.Renewed {
	res, err := r.Renew(r.t.ctx, ref, retention)
	return mustBe[spi.Renewed](r.step("renewing", ref, err, "R4.renew"), "renewed", res)
}

// MustDelete deletes a reference, which must succeed whether it is there or not.
func (r *Relocation) MustDelete(ref spi.Reference) {
	err := r.Delete(r.t.ctx, ref)
	must(r.step("deleting", ref, err, "R4.delete"), struct{}{})
}
