package payload

import (
	"errors"
	"fmt"
	"io"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// Splitter cuts a stream into chunk frames, one at a time, in one buffer of a
// chunk's size.
type Splitter struct {
	src       io.Reader
	rest      int64 // bytes of the payload still to be read
	chunkSize int64
	order     uint32
	more      bool // an empty payload still has one chunk
	buffer    []byte
}

// NewSplitter splits the length bytes of src into chunks of chunkSize bytes,
// the last one of what is left. Lengths out of bounds are argument errors, and
// nothing is read (P3.bounds).
func NewSplitter(src io.Reader, length int64, chunkSize int) (*Splitter, error) {
	if _, err := ChunkCount(length, chunkSize); err != nil {
		return nil, err
	}
	return &Splitter{
		src: src, rest: length, chunkSize: int64(chunkSize), more: true,
		buffer: make([]byte, min(length, int64(chunkSize))+spi.ChunkOverhead),
	}, nil
}

// ChunkCount returns how many chunks a payload of length bytes has: an empty
// one has one. Lengths out of bounds are argument errors.
func ChunkCount(length int64, chunkSize int) (int, error) {
	if chunkSize < 1 || chunkSize > spi.MaxChunkBytes {
		return 0, spi.Argument("chunk size is %d bytes: it must be 1 to %d", chunkSize, spi.MaxChunkBytes)
	}
	if length < 0 || length > spi.MaxPayloadBytes {
		return 0, spi.Argument("payload has %d bytes: it must have 0 to %d", length, spi.MaxPayloadBytes)
	}
	n := max((length+int64(chunkSize)-1)/int64(chunkSize), 1)
	if n > spi.MaxChunks {
		return 0, spi.Argument("payload of %d bytes has %d chunks of %d bytes: at most %d are allowed", length, n, chunkSize,
			spi.MaxChunks)
	}
	return int(n), nil
}

// Next returns the next frame and what the index has to say of it, without the
// reference. The frame is valid until the next call. After the last one the
// error is io.EOF; a source of another length than said is an argument error.
func (s *Splitter) Next() (frame []byte, chunk Chunk, err error) {
	if !s.more {
		return nil, Chunk{}, s.atEnd()
	}
	n := min(s.rest, s.chunkSize)
	frame = s.buffer[:n+spi.ChunkOverhead]
	crc, err := readSum(s.src, frame[frameData:frameData+n])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, Chunk{}, spi.Argument("payload ends in chunk %d, before its %d last bytes", s.order, s.rest)
	}
	if err != nil {
		return nil, Chunk{}, fmt.Errorf("read chunk %d of the payload: %w", s.order, err)
	}
	seal(frame, s.order, crc)
	s.order++
	s.rest -= n
	s.more = s.rest > 0
	return frame, Chunk{Length: n, CRC: crc}, nil
}

// atEnd returns io.EOF if the source has nothing more either.
func (s *Splitter) atEnd() error {
	var one [1]byte
	switch _, err := io.ReadFull(s.src, one[:]); err {
	case io.EOF:
		return io.EOF
	case nil:
		return spi.Argument("payload is longer than it was said to be")
	default:
		return fmt.Errorf("read the end of the payload: %w", err)
	}
}

// readSum fills dst and sums it in pieces that are still in the processor's
// cache when they are summed.
func readSum(src io.Reader, dst []byte) (crc uint32, err error) {
	const piece = 256 << 10
	for len(dst) > 0 {
		n := min(len(dst), piece)
		if _, err := io.ReadFull(src, dst[:n]); err != nil {
			return 0, err
		}
		crc = update(crc, dst[:n])
		dst = dst[n:]
	}
	return crc, nil
}
