package process

import (
	"io"
	"slices"
	"sync"

	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
)

// Bounds of the log of a target.
const (
	maxLogLines     = 1000
	maxLogLineBytes = 4 << 10
)

// log keeps the last lines that a target wrote, and the harness's notes on it.
type log struct {
	mu    sync.Mutex
	lines []logLine
	next  int64 // number of lines ever added
}

// logLine is a line that the target wrote, or a note of the harness.
type logLine struct {
	text string
	note bool
}

func (l *log) add(line logLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next++; len(l.lines) == maxLogLines {
		l.lines = append(l.lines[:0], l.lines[1:]...)
	}
	l.lines = append(l.lines, line)
}

// since returns the lines that were added after mark, and a new mark.
func (l *log) since(mark int64) ([]string, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(max(l.next-mark, 0), int64(len(l.lines)))
	return texts(l.lines[int64(len(l.lines))-n:]), l.next
}

// last returns at most n lines.
func (l *log) last(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return texts(l.lines[max(0, len(l.lines)-n):])
}

// own returns at most n of the last lines that the target itself wrote.
func (l *log) own(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := slices.DeleteFunc(slices.Clone(l.lines), func(line logLine) bool { return line.note })
	return texts(own[max(0, len(own)-n):])
}

func texts(lines []logLine) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line.text
	}
	return out
}

// copyFrom adds r's lines, cut to maxLogLineBytes, until r ends.
func (l *log) copyFrom(r io.Reader) {
	lines := protocol.NewLines(r, maxLogLineBytes)
	for {
		line, length, err := lines.Next()
		if err != nil {
			return
		}
		text := string(line)
		if length > int64(len(line)) {
			text += "..."
		}
		l.add(logLine{text: text})
	}
}
