package reports

import (
	"fmt"
	"io"
	"sync"

	"github.com/schollz/progressbar/v3"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

// Progress shows on a terminal how far a run is. It is safe for concurrent
// use.
type Progress struct {
	mu     sync.Mutex
	bar    *progressbar.ProgressBar
	counts map[result.Verdict]int
}

// NewProgress starts a progress line for a number of cases.
func NewProgress(w io.Writer, total int) *Progress {
	return &Progress{counts: map[result.Verdict]int{}, bar: progressbar.NewOptions(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(20),
		progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetTheme(progressbar.ThemeASCII),
	)}
}

// Done counts a finished case.
func (p *Progress) Done(c result.Case) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[c.Verdict]++
	if fails, errors := p.counts[result.Fail], p.counts[result.Error]; fails+errors > 0 {
		p.bar.Describe(fmt.Sprintf("%d fail, %d error", fails, errors))
	}
	_ = p.bar.Add(1) // a terminal that can't be written to fails the report itself
}

// Clear takes the line away, so that the report starts on a clean one.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.bar.Clear()
}
