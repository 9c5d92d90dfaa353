package payloadcases

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/reference/payload"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// boundCases: the most chunks and the largest ones (P3.bounds).
func boundCases() []harness.Case {
	largest := relocationCase("bounds/largest-chunk",
		"The frame of a chunk of 64 MiB, a blob of 64 MiB and 23 bytes, comes back whole.",
		"P3.bounds R3.size", largestChunk)
	largest.Heavy = true
	large := relocationCase("bounds/200-mib", "A payload of 200 MiB in four chunks comes back whole.",
		"P3.bounds P3.index P3.join-order", func(t *harness.T) { stream(t, 200<<20) })
	large.Heavy, large.Large, large.Timeout = true, true, 5*time.Minute
	most := relocationCase("bounds/most-chunks", "A payload of 4,096 chunks has all of them in its index and comes back whole.",
		"P3.bounds P3.index", mostChunks)
	most.Slow = true
	most.Timeout = 2 * time.Minute // for thousands of operations through a slow adapter
	return []harness.Case{most, largest, large}
}

func mostChunks(t *harness.T) {
	f := onTarget(t)
	f.ChunkSize = 16
	data := t.RandomBytes(spi.MaxChunks * f.ChunkSize)
	f.scatter("P3.bounds", "P3.index", "p", data)
	x, _, err := f.Index(t.Context(), index("p"))
	if err != nil {
		f.fail("P3.index", err, "reading the index of %d chunks", spi.MaxChunks)
	}
	t.Checkf(len(x.Chunks) == spi.MaxChunks, "P3.index", "the index names %d chunks, expected %d", len(x.Chunks), spi.MaxChunks)
	t.EqualBytes("P3.bounds", "the payload", data, f.gather("P3.bounds", x))
}

// largestChunk describes the frame instead of carrying it, so that 64 MiB need
// not cross the pipe of an adapter: a fill with the header and the checksum
// patched in.
func largestChunk(t *harness.T) {
	fill := targets.Fill{Length: spi.MaxBlobBytes, Seed: uint32(t.Seed())}
	const header, trailer = 19, 4
	frame, err := payload.EncodeFrame(0, fill.Bytes()[header:spi.MaxBlobBytes-trailer])
	if err != nil {
		t.Troublef("encoding the frame of a chunk of %d bytes failed: %v", spi.MaxChunkBytes, err)
	}
	patch := func(from, to int) {
		for at := from; at < to; at++ {
			fill.Patch = append(fill.Patch, [2]int64{int64(at), int64(frame[at])})
		}
	}
	patch(0, header)
	patch(len(frame)-trailer, len(frame))
	t.Relocation().MustStoreFill("chunk", fill, spi.Retention(payload.DefaultRetention.Milliseconds()))
	got, err := t.Relocation().ReadDigest(t.Context(), "chunk")
	if err != nil {
		t.Fatalf("P3.bounds", "reading a chunk of 64 MiB failed: %v", err)
	}
	t.Checkf(got.Found && got.Length == int64(len(frame)) && got.SHA256 == sha256.Sum256(frame), "P3.bounds",
		"the chunk's frame came back as %s, expected %d bytes with SHA-256 %x", harness.Describe(got), len(frame),
		sha256.Sum256(frame))
}

// stream stores and joins a payload in chunks of the full size without ever
// holding it.
func stream(t *harness.T, length int) {
	f := onTarget(t)
	f.ChunkSize = spi.MaxChunkBytes
	put, err := f.Put(t.Context(), plan("p", length), io.LimitReader(noise(t), int64(length)))
	if err != nil {
		f.fail("P3.bounds", err, "storing %d bytes in chunks of %d", length, f.ChunkSize)
	}
	out := &comparison{want: noise(t)}
	joined, err := f.Join(t.Context(), index("p"), out)
	if err != nil {
		f.fail("P3.bounds", err, "joining %d bytes in chunks of %d", length, f.ChunkSize)
	}
	t.Equal("P3.index", "the leading index that was read", put, joined)
	t.Checkf(out.same == length, "P3.join-order", "the payload of %d bytes differs after %d bytes or a little later", length,
		out.same)
}

// noise is the same endless stream whenever the case asks for it.
func noise(t *harness.T) io.Reader {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], t.Seed())
	return rand.NewChaCha8(seed)
}

// comparison takes a stream that ought to be the wanted one.
type comparison struct {
	want   io.Reader
	buffer []byte
	same   int // bytes so far, without the piece in which the first difference is
	differ bool
}

func (c *comparison) Write(got []byte) (int, error) {
	const piece = 1 << 20
	if c.buffer == nil {
		c.buffer = make([]byte, piece)
	}
	for rest := got; len(rest) > 0 && !c.differ; {
		n := min(len(rest), piece)
		if _, err := io.ReadFull(c.want, c.buffer[:n]); err != nil {
			return 0, err
		}
		if c.differ = !bytes.Equal(c.buffer[:n], rest[:n]); !c.differ {
			c.same += n
		}
		rest = rest[n:]
	}
	return len(got), nil
}
