package payload

import (
	"context"
	"hash/crc32"
	"io"
	"testing"
)

const benchLength = 256 << 20

// BenchmarkCopyWithCRC is what a payload costs at least: one copy and one sum.
func BenchmarkCopyWithCRC(b *testing.B) {
	src := newPatternStore()
	dst := make([]byte, 64<<20)
	table := crc32.MakeTable(crc32.Castagnoli)
	b.SetBytes(benchLength)
	for b.Loop() {
		r := src.reader(benchLength)
		for range benchLength / len(dst) {
			if _, err := io.ReadFull(r, dst); err != nil {
				b.Fatal(err)
			}
			crc32.Checksum(dst, table)
		}
	}
}

// BenchmarkSplitJoin makes each chunk's frame and reads it again.
func BenchmarkSplitJoin(b *testing.B) {
	src := newPatternStore()
	b.SetBytes(benchLength)
	b.ReportAllocs()
	for b.Loop() {
		split, err := NewSplitter(src.reader(benchLength), benchLength, 64<<20)
		if err != nil {
			b.Fatal(err)
		}
		for {
			frame, _, err := split.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			if _, err := DecodeFrame(frame); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkStore stores, confirms and joins through a store that copies too.
func BenchmarkStore(b *testing.B) {
	blobs := newPatternStore()
	s := Store{Blobs: blobs}
	b.SetBytes(benchLength)
	for b.Loop() {
		if _, err := s.Put(context.Background(), plan(benchLength), blobs.reader(benchLength)); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Join(context.Background(), "index", io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(blobs.peak>>20), "peak-heap-MiB")
}
