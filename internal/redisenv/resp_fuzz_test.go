package redisenv

import (
	"bufio"
	"bytes"
	"io"
	"testing"
)

// inMemory reads from memory as from a connection, and says afterwards how much
// of the input was taken.
func inMemory(data []byte) (*source, func() int) {
	r := bytes.NewReader(data)
	s := &source{br: bufio.NewReaderSize(r, bufSize)}
	return s, func() int { return len(data) - r.Len() - s.br.Buffered() }
}

// checkCopied holds what every copy owes: each byte that it took goes on
// unchanged if the frame was whole, and nothing but those bytes if it was not.
func checkCopied(t *testing.T, data, out []byte, taken int, err error) {
	t.Helper()
	if !bytes.HasPrefix(data, out) {
		t.Fatalf("%q came out as %q", data, out)
	}
	if err == nil && len(out) != taken {
		t.Fatalf("of %q, %d bytes were taken and %d passed on", data, taken, len(out))
	}
	if err == nil && taken > len(data) {
		t.Fatalf("%d bytes of %d", taken, len(data))
	}
}

func FuzzCopyCommand(f *testing.F) {
	for _, seed := range []string{
		"*1\r\n$4\r\nPING\r\n", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\r\n\r\n", "PING\r\n", "GET k\r\n", "\r\n", "*0\r\n",
		"*-1\r\n",
		"*5\r\n$7\r\nevalsha\r\n$2\r\nab\r\n$1\r\n1\r\n$1\r\nk\r\n$0\r\n\r\n", "*3\r\n$4\r\nEVAL\r\n$1\r\nx\r\n$1\r\n0\r\n",
		"*1\r\n$9223372036854775807\r\n", "*2\r\n$3\r\nGET\r\n$70000\r\nabc", "*2\r\n$3\r\nGET\r\n$-1\r\n",
		"*9999999999999999999\r\n",
		"*1\r\n+PING\r\n", "*1\n$4\nPING\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, taken := inMemory(data)
		var out bytes.Buffer
		h, err := readHead(s)
		if err == nil {
			_, err = s.copyCommand(&out, h)
		}
		checkCopied(t, data, out.Bytes(), taken(), err)
	})
}

func FuzzCopyReply(f *testing.F) {
	for _, seed := range []string{
		"+OK\r\n", "-ERR no\r\n", ":1\r\n", "$-1\r\n", "$0\r\n\r\n", "$3\r\nabc\r\n", "*-1\r\n", "*2\r\n:1\r\n$1\r\nx\r\n",
		"_\r\n", "#t\r\n",
		",1.5\r\n", "(123\r\n", "=7\r\ntxt:abc\r\n", "!3\r\nERR\r\n", "%1\r\n+k\r\n+v\r\n", "~1\r\n:1\r\n", ">1\r\n+m\r\n",
		"|1\r\n+k\r\n+v\r\n:7\r\n",
		"$?\r\n;2\r\nab\r\n;0\r\n", "*?\r\n:1\r\n.\r\n", "$9223372036854775807\r\n", "%9223372036854775807\r\n",
		"|9223372036854775807\r\n", "&1\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, taken := inMemory(data)
		var out bytes.Buffer
		err := s.copyReply(&out)
		checkCopied(t, data, out.Bytes(), taken(), err)
	})
}

// A reply that nests for ever must not take the process's stack with it.
func TestDeepReplyIsRefused(t *testing.T) {
	s, _ := inMemory(bytes.Repeat([]byte("*1\r\n"), 100_000))
	if err := s.copyReply(io.Discard); err != errProtocol {
		t.Errorf("got %v, want %v", err, errProtocol)
	}
}
