package protocol

import (
	"bufio"
	"bytes"
	"io"
)

// Lines reads lines of any length in bounded memory.
type Lines struct {
	r   *bufio.Reader
	max int
	buf []byte
}

// NewLines reads from r and keeps at most max bytes of a line.
func NewLines(r io.Reader, max int) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// Next returns the next line without its "\n" or "\r\n", and its whole length;
// if that is greater than the line returned, the rest was dropped. The line is
// valid until the next call. At the end of the input, a last line without "\n"
// is returned before io.EOF.
func (l *Lines) Next() (line []byte, length int64, err error) {
	const keep = 1 << 20
	if cap(l.buf) > keep {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		length += int64(len(part))
		if room := l.max + len("\r\n") - len(l.buf); room > 0 {
			l.keep(part[:min(room, len(part))])
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && length == 0:
			return nil, 0, err
		}
		whole := int64(len(l.buf)) == length
		line = l.buf
		if whole {
			line = bytes.TrimSuffix(line, []byte("\n"))
			line = bytes.TrimSuffix(line, []byte("\r"))
			length = int64(len(line))
		}
		return line[:min(len(line), l.max)], length, nil
	}
}

// keep appends to the line. The buffer doubles up to the bound: the smaller
// steps of append would leave several times the bound behind.
func (l *Lines) keep(part []byte) {
	if need := len(l.buf) + len(part); need > cap(l.buf) {
		grown := make([]byte, len(l.buf), min(max(2*cap(l.buf), need), max(l.max+len("\r\n"), need)))
		copy(grown, l.buf)
		l.buf = grown
	}
	l.buf = append(l.buf, part...)
}
