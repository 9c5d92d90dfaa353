package process

import (
	"io"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

// StopForSilence stops the process as if it had kept silent.
func StopForSilence(t targets.Target) {
	c := t.(*target).current
	c.silenced.Store(true)
	c.stop()
}

// With returns o with a trace of the protocol and a grace between the steps
// that end a process.
func (o Options) With(trace io.Writer, grace time.Duration) Options {
	o.trace, o.grace = trace, grace
	return o
}
