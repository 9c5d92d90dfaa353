package redisenv

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

const (
	bufSize    = 32 << 10
	maxHeadArg = 64 << 10 // a longer argument is neither a command's name nor a key: it is passed on unread
)

var errProtocol = errors.New("not RESP")

// source is the reading side of a connection. It flushes the opposite sink before it waits for more, so that nothing
// finished lies in a buffer while the connection is still.
type source struct {
	conn *net.TCPConn
	br   *bufio.Reader
}

// sink is the writing side of a connection.
type sink struct {
	conn  *net.TCPConn
	bw    *bufio.Writer
	large []byte // for copying long values; made at the first one
}

func newSink(c *net.TCPConn) *sink { return &sink{conn: c, bw: bufio.NewWriterSize(c, bufSize)} }

func (s *sink) Write(p []byte) (int, error) { return s.bw.Write(p) }

func newSource(c *net.TCPConn, opposite *sink) *source {
	return &source{conn: c, br: bufio.NewReaderSize(flushingReader{c, opposite.bw}, bufSize)}
}

type flushingReader struct {
	r io.Reader
	w *bufio.Writer
}

func (f flushingReader) Read(p []byte) (int, error) {
	if err := f.w.Flush(); err != nil {
		return 0, err
	}
	return f.r.Read(p)
}

// line reads one line with its end; it is valid until the next read.
func (s *source) line() ([]byte, error) {
	line, err := s.br.ReadSlice('\n')
	if err == nil && (len(line) < 3 || line[len(line)-2] != '\r') {
		return nil, errProtocol
	}
	return line, err
}

// copyN passes n bytes on. A long value goes from socket to socket in large pieces and is never held whole.
func (s *source) copyN(dst io.Writer, n int64) error {
	if n <= bufSize {
		b, err := s.br.Peek(int(n))
		if err != nil {
			return err
		}
		if _, err := dst.Write(b); err != nil {
			return err
		}
		_, err = s.br.Discard(int(n))
		return err
	}
	out, direct := dst.(*sink)
	if !direct {
		_, err := io.CopyN(dst, s.br, n)
		return err
	}
	buffered := min(n, int64(s.br.Buffered()))
	if err := s.copyN(dst, buffered); err != nil {
		return err
	}
	if err := out.bw.Flush(); err != nil {
		return err
	}
	if out.large == nil {
		out.large = make([]byte, 512<<10)
	}
	// Hiding TCPConn's ReadFrom keeps the copy out of splice, whose pipe holds 64 KiB: measured, this is the faster one.
	_, err := io.CopyBuffer(struct{ io.Writer }{out.conn}, io.LimitReader(s.conn, n-buffered), out.large)
	return err
}

// head is the beginning of a command, as far as rules look at it.
type head struct {
	raw     []byte // what was read, as it came
	name    string // upper case
	key     string // the first key; of a command without keys, its first argument
	partial int64  // bytes still to come of the argument whose length was read last
	args    int    // arguments still to come after that
}

// keyPositions lists the commands whose first key is not their first argument.
var keyPositions = map[string]int{
	"EVAL": 3, "EVALSHA": 3, "EVAL_RO": 3, "EVALSHA_RO": 3, "FCALL": 3, "FCALL_RO": 3,
	"OBJECT": 2, "MEMORY": 2, "XGROUP": 2, "XINFO": 2, "BITOP": 2,
}

// readHead reads a command up to its first key.
func readHead(s *source) (*head, error) {
	line, err := s.line()
	if err != nil {
		return nil, err
	}
	h := &head{raw: bytes.Clone(line)}
	if line[0] != '*' { // an inline command
		if f := strings.Fields(string(line)); len(f) > 0 {
			h.name = strings.ToUpper(f[0])
			if len(f) > 1 {
				h.key = f[1]
			}
		}
		return h, nil
	}
	if h.args, err = strconv.Atoi(string(bytes.TrimSpace(line[1:]))); err != nil {
		return nil, errProtocol
	}
	keyAt := 1
	for i := 0; h.args > 0; i++ {
		n, err := s.bulkHeader(&h.raw)
		if err != nil {
			return nil, err
		}
		h.args--
		if n > maxHeadArg {
			h.partial = n + 2
			return h, nil
		}
		at := len(h.raw)
		h.raw = append(h.raw, make([]byte, n+2)...)
		if _, err := io.ReadFull(s.br, h.raw[at:]); err != nil {
			return nil, err
		}
		arg := string(h.raw[at : at+int(n)])
		switch {
		case i == 0:
			h.name = strings.ToUpper(arg)
			if p, ok := keyPositions[h.name]; ok {
				keyAt = p
			}
		case i == keyAt:
			h.key = arg
			return h, nil
		case i == 2 && keyAt == 3 && arg == "0": // a script without keys
			return h, nil
		}
	}
	return h, nil
}

// bulkHeader reads "$<n>\r\n", appends it to raw and returns n.
func (s *source) bulkHeader(raw *[]byte) (int64, error) {
	line, err := s.line()
	if err != nil {
		return 0, err
	}
	*raw = append(*raw, line...)
	n, err := strconv.ParseInt(string(bytes.TrimSpace(line[1:])), 10, 64)
	if line[0] != '$' || err != nil || n < 0 {
		return 0, errProtocol
	}
	return n, nil
}

// copyCommand passes a whole command on, head included, and returns its size in bytes.
func (s *source) copyCommand(dst io.Writer, h *head) (int64, error) {
	size := int64(len(h.raw)) + h.partial
	if _, err := dst.Write(h.raw); err != nil {
		return size, err
	}
	if err := s.copyN(dst, h.partial); err != nil {
		return size, err
	}
	var raw []byte
	for range h.args {
		raw = raw[:0]
		n, err := s.bulkHeader(&raw)
		if err != nil {
			return size, err
		}
		size += int64(len(raw)) + n + 2
		if _, err := dst.Write(raw); err != nil {
			return size, err
		}
		if err := s.copyN(dst, n+2); err != nil {
			return size, err
		}
	}
	return size, nil
}

// copyReply passes one whole reply on, of RESP2 or RESP3, with an attribute that stands before it.
func (s *source) copyReply(dst io.Writer) error {
	_, err := s.copyFrame(dst, 0)
	return err
}

// maxDepth bounds how deep a reply may nest, far beyond what Redis nests: each level takes a piece of the stack.
const maxDepth = 1000

// copyFrame passes one frame on; end reports the frame that ends a streamed aggregate.
func (s *source) copyFrame(dst io.Writer, depth int) (end bool, err error) {
	if depth > maxDepth {
		return false, errProtocol
	}
	line, err := s.line()
	if err != nil {
		return false, err
	}
	kind, arg := line[0], string(bytes.TrimSpace(line[1:]))
	if _, err := dst.Write(line); err != nil {
		return false, err
	}
	switch kind {
	case '+', '-', ':', '_', ',', '#', '(':
		return false, nil
	case '.':
		return true, nil
	}
	if arg == "?" {
		return false, s.copyStreamed(dst, kind, depth+1)
	}
	n, err := strconv.ParseInt(arg, 10, 64)
	if err != nil {
		return false, errProtocol
	}
	switch kind {
	case '$', '=', '!':
		if n < 0 {
			return false, nil
		}
		return false, s.copyN(dst, n+2)
	case '*', '~', '>':
	case '%':
		n *= 2
	case '|': // an attribute: its pairs, and then the reply that it describes
		n = 2*n + 1
	default:
		return false, fmt.Errorf("%w: reply of type %q", errProtocol, kind)
	}
	for ; n > 0; n-- {
		if _, err := s.copyFrame(dst, depth+1); err != nil {
			return false, err
		}
	}
	return false, nil
}

// copyStreamed passes on the rest of a string or aggregate whose length was not told at its beginning.
func (s *source) copyStreamed(dst io.Writer, kind byte, depth int) error {
	if kind != '$' {
		for {
			if end, err := s.copyFrame(dst, depth); end || err != nil {
				return err
			}
		}
	}
	for {
		line, err := s.line()
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line[1:])), 10, 64)
		if line[0] != ';' || err != nil || n < 0 {
			return errProtocol
		}
		if _, err := dst.Write(line); err != nil || n == 0 {
			return err
		}
		if err := s.copyN(dst, n+2); err != nil {
			return err
		}
	}
}
