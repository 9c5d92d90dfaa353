package payload

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"time"

	"github.com/zlink-systems/zlink-conformance/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// boundCases: the most chunks and the largest ones (P3.bounds).
func boundCases() []harness.Case {
	largest := payloadCase("bounds/largest-chunk", "A chunk of 64 MiB, a blob of 64 MiB and 23 bytes, and the short one after it come back whole.",
		"P3.bounds R3.size", func(t *harness.T) { stream(t, spi.MaxChunkBytes+1000) })
	largest.Heavy = true
	large := payloadCase("bounds/200-mib", "A payload of 200 MiB in four chunks comes back whole.",
		"P3.bounds", func(t *harness.T) { stream(t, 200<<20) })
	large.Heavy, large.Large, large.Timeout = true, true, 5*time.Minute
	most := payloadCase("bounds/most-chunks", "A payload of 4,096 chunks has all of them in its index and comes back whole.",
		"P3.bounds P3.index", mostChunks)
	most.Timeout = 2 * time.Minute // for thousands of operations through a slow adapter
	return []harness.Case{most, largest, large}
}

func mostChunks(t *harness.T) {
	f := targets(t)
	f.ChunkSize = 16
	data := random(t, spi.MaxChunks*f.ChunkSize)
	f.scatter("p", data)
	x, _, err := f.Index(t.Context(), index("p"))
	if err != nil {
		f.fail("P3.index", err, "reading the index of %d chunks", spi.MaxChunks)
	}
	t.Checkf(len(x.Chunks) == spi.MaxChunks, "P3.index", "the index names %d chunks, expected %d", len(x.Chunks), spi.MaxChunks)
	t.EqualBytes("P3.bounds", "the payload", data, f.gather(x))
}

// stream stores and joins a payload in chunks of the full size without ever
// holding it.
func stream(t *harness.T, length int) {
	f := targets(t)
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
	t.Checkf(out.same == length, "P3.join-order", "the payload of %d bytes differs after %d bytes or a little later", length, out.same)
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
