package mutants

import (
	"bytes"
	"context"
	"crypto/md5"
	"hash/adler32"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// compareMutants take contents for the same that differ (L4.value,
// R4.put-compare): each as a Value condition and as a repeated Put.
func compareMutants() []Mutant {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	var mutants []Mutant
	for _, row := range []struct {
		slug, title string
		same        func(a, b []byte) bool // of contents of the same length
	}{
		{"ends-only", "The first and the last KiB are compared", func(a, b []byte) bool {
			n := min(len(a), 1024)
			return bytes.Equal(a[:n], b[:n]) && bytes.Equal(a[len(a)-n:], b[len(b)-n:])
		}},
		{"head-only", "The first 64 KiB are compared",
			func(a, b []byte) bool { return bytes.Equal(a[:min(len(a), 64<<10)], b[:min(len(b), 64<<10)]) }},
		{"tail-only", "All but the first byte is compared",
			func(a, b []byte) bool { return len(a) > 1 && bytes.Equal(a[1:], b[1:]) }},
		{"last-of-chunk", "The last byte of each 16 KiB is not compared", func(a, b []byte) bool {
			for chunk := range slices.Chunk(xored(a, b), 16<<10) {
				if len(bytes.Trim(chunk[:min(len(chunk), 16<<10-1)], "\x00")) > 0 {
					return false
				}
			}
			return true
		}},
		{"seven-bits", "The highest bit of each byte is not compared",
			func(a, b []byte) bool { return bytes.Equal(masked(a, 0x7f), masked(b, 0x7f)) }},
		{"as-text", "Contents are compared as text of UTF-8", func(a, b []byte) bool {
			return strings.ToValidUTF8(string(a), "?") == strings.ToValidUTF8(string(b), "?")
		}},
		{"as-c-text", "Contents are compared up to the first NUL", func(a, b []byte) bool {
			a, _, _ = bytes.Cut(a, []byte{0})
			b, _, _ = bytes.Cut(b, []byte{0})
			return len(a) > 0 && bytes.Equal(a, b)
		}},
		{"any-case", "Letters are compared without regard to case", bytes.EqualFold},
		{"crc-32", "The CRC-32 is compared", func(a, b []byte) bool { return crc32.ChecksumIEEE(a) == crc32.ChecksumIEEE(b) }},
		{"crc-32c", "The CRC-32C is compared", func(a,
			b []byte) bool {
			return crc32.Checksum(a, castagnoli) == crc32.Checksum(b, castagnoli)
		}},
		{"adler-32", "The Adler-32 is compared", func(a, b []byte) bool { return adler32.Checksum(a) == adler32.Checksum(b) }},
		{"md5", "The MD5 is compared", func(a, b []byte) bool { return md5.Sum(a) == md5.Sum(b) }},
	} {
		mutants = append(mutants,
			onLocation("compare/value-"+row.slug, "L4.value", row.title+" where a value condition should compare bytes.",
				func(l *location) {
					l.write = takenForSame(l, row.same)
				}),
			onRelocation("compare/payload-"+row.slug, "R4.put-compare", row.title+" where a repeated Put should compare bytes.",
				func(r *relocation) {
					r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
						result, err := r.RelocationStore.Put(ctx, ref, p, ms)
						if _, conflict := result.(spi.Conflict); !conflict {
							return result, err
						}
						stored, err := r.RelocationStore.Read(ctx, ref)
						if f, ok := stored.(spi.BlobFound); ok && len(f.Bytes) == len(p) && row.same(f.Bytes, p) {
							return spi.AlreadyStored{ExpiresAt: f.ExpiresAt, StoreNow: f.StoreNow}, nil
						}
						return result, err
					}
				}))
	}
	return mutants
}

// takenForSame puts the live bytes in the place of those expected ones that are
// taken for the same.
func takenForSame(l *location, same func(a, b []byte) bool) func(context.Context, spi.WriteRequest) (spi.WriteResult, error) {
	return func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		w.Conditions = slices.Clone(w.Conditions)
		for i, c := range w.Conditions {
			v, ok := c.(spi.ValueCondition)
			if !ok || len(w.Conditions) > 8 { // a read each: too slow for long lists
				continue
			}
			live, err := l.LocationStore.Read(ctx, v.Key)
			if err != nil {
				return nil, err
			}
			if f, ok := live.(spi.Found); ok && len(f.Value.Bytes) == len(v.Expected) && same(f.Value.Bytes, v.Expected) {
				w.Conditions[i] = spi.ValueCondition{Key: v.Key, Expected: f.Value.Bytes}
			}
		}
		return l.LocationStore.Write(ctx, w)
	}
}

func xored(a, b []byte) []byte {
	c := make([]byte, len(a))
	for i := range c {
		c[i] = a[i] ^ b[i]
	}
	return c
}

func masked(b []byte, mask byte) []byte {
	c := slices.Clone(b)
	for i := range c {
		c[i] &= mask
	}
	return c
}
