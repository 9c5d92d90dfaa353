//go:build unix

package faulttest

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
)

// monitor hands each command that reaches the server to see as words, also
// those inside of scripts, until the returned function is called.
func monitor(t *testing.T, s *redisenv.Server, see func(words []string)) (stop func()) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprint(conn, "MONITOR\r\n"); err != nil {
		t.Fatal(err)
	}
	const most = 64 << 10 // of a line: a script and the keys stand in front
	lines := protocol.NewLines(conn, most)
	if line, _, err := lines.Next(); err != nil || string(line) != "+OK" {
		t.Fatalf("MONITOR: %q, %v", line, err)
	}
	var reading sync.WaitGroup
	const last = "the end of the recording"
	reading.Go(func() {
		for {
			line, _, err := lines.Next()
			if err != nil {
				t.Errorf("reading from MONITOR: %v", err)
				return
			}
			words := words(string(line))
			if len(words) == 2 && words[1] == last {
				return
			}
			if len(words) > 0 {
				see(words)
			}
		}
	})
	return func() {
		other, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if _, err := fmt.Fprintf(other, "ECHO %q\r\n", last); err != nil {
			t.Fatal(err)
		}
		reading.Wait()
	}
}

// words are the quoted words of a line such as
// +1700000000.000001 [0 127.0.0.1:4711] "GET" "key"; a cut one is left out.
func words(line string) []string {
	_, rest, _ := strings.Cut(line, "] ")
	var out []string
	for rest != "" {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return out
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return out
		}
		out = append(out, word)
		rest = strings.TrimPrefix(rest[len(quoted):], " ")
	}
	return out
}
