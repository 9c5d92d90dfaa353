package process

import (
	"io"
	"time"
)

// With returns o with a trace of the protocol and a grace between the steps
// that end a process.
func (o Options) With(trace io.Writer, grace time.Duration) Options {
	o.trace, o.grace = trace, grace
	return o
}
