package spicases

import (
	"crypto/sha256"
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func blobRetentionCases() []harness.Case {
	return []harness.Case{
		relocationCase("blob-retention/below-one",
			"Put and Renew with a retention below a millisecond succeed, and the payload is gone soon after.",
			"R4.retention", blobFractionBelowOne),
		relocationCase("blob-retention/fraction", "A retention with a fraction is kept to the whole millisecond below or above.",
			"R4.retention R3.expiry-clock", blobFractionKept),
	}
}

func blobFractionBelowOne(t *harness.T) {
	r := t.Relocation()
	for i, ms := range []spi.Retention{0.4, 0.001, 0.9} {
		ref := spi.Reference(fmt.Sprint("put", i))
		s, put := store(t, r, ref, []byte("p"), ms)
		put.told(t, "R4.retention", fmt.Sprintf("expiresAt of a Put with %v ms", float64(ms)), s.ExpiresAt)

		renewed := spi.Reference(fmt.Sprint("renewed", i))
		r.MustStore(renewed, []byte("p"), hour)
		n, again := renewFor(t, r, renewed, ms)
		again.told(t, "R4.retention", fmt.Sprintf("expiresAt of a Renew with %v ms", float64(ms)), n.ExpiresAt)

		again.awaitEnd(t)
		r.MustMiss(ref)
		r.MustMiss(renewed)
	}
}

func blobFractionKept(t *harness.T) {
	r := t.Relocation()
	for i, ms := range []spi.Retention{minute + 0.5, minute + 0.001, day + 0.999} {
		ref := spi.Reference(fmt.Sprint("r", i))
		s, put := store(t, r, ref, []byte("p"), ms)
		put.told(t, "R4.retention", fmt.Sprintf("expiresAt of a Put with %v ms", float64(ms)), s.ExpiresAt)
		n, again := renewFor(t, r, ref, ms)
		again.told(t, "R4.retention", fmt.Sprintf("expiresAt of a Renew with %v ms", float64(ms)), n.ExpiresAt)
	}
	s, put := store(t, r, "one", []byte("p"), 1.5)
	put.told(t, "R4.retention", "expiresAt of a Put with 1.5 ms", s.ExpiresAt)
	put.awaitEnd(t)
	r.MustMiss("one")
}

func sizeCases() []harness.Case {
	cases := []harness.Case{
		relocationCase("size/1-mib", "A payload of 1 MiB comes back whole.",
			"R3.size R3.payload-bytes R4.put", func(t *harness.T) { wholeBlob(t, 1<<20) }),
		relocationCase("size/largest", "A payload of 64 MiB + 23 bytes comes back whole.",
			"R3.size R3.payload-bytes R4.put", func(t *harness.T) { wholeBlob(t, spi.MaxBlobBytes) }),
		relocationCase("size/large-compare", "A payload of 64 MiB is compared to its last byte: the same is AlreadyStored, "+
			"one other byte at the end is a Conflict.",
			"R4.put-compare R3.size R4.put", largeCompare),
		relocationCase("size/too-large", "A payload of 64 MiB + 24 bytes is an argument error, sends nothing to "+
			"Redis, and nothing is stored.",
			"R3.size R5.argument-error", tooLarge),
	}
	for i := 1; i < len(cases); i++ {
		cases[i].Heavy = true
	}
	return cases
}

func wholeBlob(t *harness.T, size int64) {
	r := t.Relocation()
	fill := targets.Fill{Length: size, Seed: uint32(t.Seed())}
	stored := r.Citing("R3.size").MustStoreFill("r", fill, hour)
	d, err := r.ReadDigest(t.Context(), "r")
	if err != nil {
		t.Fatalf("R3.size", "reading a payload of %d bytes failed: %v", size, err)
	}
	if !d.Found || d.Length != size {
		t.Fatalf("R3.size", "a payload of %d bytes is read as %s", size, harness.Describe(d))
	}
	t.Checkf(d.SHA256 == sha256.Sum256(fill.Bytes()), "R3.payload-bytes", "a payload of %d bytes came back with other bytes",
		size)
	t.Checkf(stored.ExpiresAt > stored.StoreNow, "R4.put", "Stored says expiresAt %d at %d", stored.ExpiresAt, stored.StoreNow)
}

func largeCompare(t *harness.T) {
	r := t.Relocation()
	fill := targets.Fill{Length: spi.MaxChunkBytes, Seed: uint32(t.Seed())}
	r.MustStoreFill("r", fill, hour)
	other := fill
	other.Patch = [][2]int64{{fill.Length - 1, int64(lastByte(fill) ^ 1)}}
	for _, row := range []struct {
		what string
		fill targets.Fill
		want spi.BlobPutResult
	}{{"the same bytes", fill, spi.AlreadyStored{}}, {"another last byte", other, spi.Conflict{}}} {
		res, err := r.PutFill(t.Context(), "r", row.fill, hour)
		if err != nil {
			t.Fatalf("R4.put-compare", "putting 64 MiB with %s failed: %v", row.what, err)
		}
		t.Checkf(fmt.Sprintf("%T", res) == fmt.Sprintf("%T", row.want), "R4.put-compare",
			"64 MiB put again with %s answered %s", row.what, harness.Describe(res))
	}
}

// lastByte is the last byte of a fill without patches (see targets.Fill).
func lastByte(f targets.Fill) byte {
	return byte((f.Seed + uint32(f.Length-1)) * 2654435761 >> 24)
}

func tooLarge(t *harness.T) {
	p := t.Proxy(nil)
	r := t.Target().OpenRelocation(harness.Store{Proxy: p})
	r.MustMiss("r")
	fill := targets.Fill{Length: spi.MaxBlobBytes + 1, Seed: uint32(t.Seed())}
	refuseQuietly(t, p, r, "R5.argument-error", []attempt[*harness.Relocation]{
		{"a payload of 64 MiB + 24 bytes", "R3.size", func(r *harness.Relocation) error {
			_, err := r.PutFill(t.Context(), "r", fill, hour)
			return err
		}},
	})
	r.MustMiss("r")
}
