package payload

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// patternStore keeps of each frame only its head and trailer, for the data is
// known: endless repetitions of pattern. So it holds a payload of any length in
// no memory, and what is measured is the code's.
type patternStore struct {
	spi.RelocationStore // for the operations that no test here calls
	pattern             []byte
	ends                map[spi.Reference][2]string // head and trailer
	length              map[spi.Reference]int
	peak                uint64 // of the heap, in bytes
}

func newPatternStore() *patternStore {
	pattern := make([]byte, 1<<20)
	for i := range pattern {
		pattern[i] = byte(i * i >> 8)
	}
	return &patternStore{pattern: pattern, ends: map[spi.Reference][2]string{}, length: map[spi.Reference]int{}}
}

func (s *patternStore) sample() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.peak = max(s.peak, m.HeapInuse)
}

// fill makes the frame's data; the chunk size is a multiple of the pattern's.
func (s *patternStore) fill(data []byte) {
	for len(data) > 0 {
		data = data[copy(data, s.pattern):]
	}
}

func (s *patternStore) Put(_ context.Context, ref spi.Reference, raw []byte, _ spi.Retention) (spi.BlobPutResult, error) {
	s.sample()
	if ref == "index" {
		s.ends[ref], s.length[ref] = [2]string{string(raw)}, len(raw)
		return spi.Stored{}, nil
	}
	end := len(raw) - trailerBytes
	for data := raw[frameData:end]; len(data) > 0; {
		n := min(len(data), len(s.pattern))
		if !bytes.Equal(data[:n], s.pattern[:n]) {
			return nil, fmt.Errorf("%s holds other data than the pattern", ref)
		}
		data = data[n:]
	}
	s.ends[ref], s.length[ref] = [2]string{string(raw[:frameData]), string(raw[end:])}, len(raw)
	return spi.Stored{}, nil
}

func (s *patternStore) Read(_ context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
	ends, ok := s.ends[ref]
	if !ok {
		return spi.Missing{}, nil
	}
	raw := make([]byte, s.length[ref])
	copy(raw, ends[0])
	if ref != "index" {
		s.fill(raw[frameData : len(raw)-trailerBytes])
		copy(raw[len(raw)-trailerBytes:], ends[1])
	}
	s.sample()
	return spi.BlobFound{Bytes: raw}, nil
}

// patternReader reads length bytes of the pattern.
func (s *patternStore) reader(length int64) io.Reader {
	return io.LimitReader(&repeating{pattern: s.pattern}, length)
}

type repeating struct {
	pattern []byte
	at      int
}

func (r *repeating) Read(p []byte) (int, error) {
	n := copy(p, r.pattern[r.at:])
	r.at = (r.at + n) % len(r.pattern)
	return n, nil
}

// A payload of 1 GiB in chunks of 64 MiB goes through less than 256 MiB. The
// memory limit makes the collector take finished chunks away in time, as it
// would in a container of that size; it cannot take what is in use.
func TestMemory(t *testing.T) {
	const length, limit = 1 << 30, 256 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit * 3 / 4))
	blobs := newPatternStore()
	s := Store{Blobs: blobs}
	if _, err := s.Put(context.Background(), plan(length), blobs.reader(length)); err != nil {
		t.Fatal(err)
	}
	put := blobs.peak
	x, err := s.Join(context.Background(), "index", io.Discard)
	if err != nil || x.Length != length || len(x.Chunks) != 16 {
		t.Fatalf("joined %d bytes of %d chunks, %v", x.Length, len(x.Chunks), err)
	}
	t.Logf("peak heap: %d MiB storing, %d MiB in all", put>>20, blobs.peak>>20)
	if blobs.peak >= limit {
		t.Errorf("peak heap is %d MiB, want less than %d", blobs.peak>>20, limit>>20)
	}
}
