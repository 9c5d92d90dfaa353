// Package procgroup ends a process together with what it started.
package procgroup

import (
	"os"
	"time"
)

// End asks the process to end, which closes ended, and kills it and what it
// started when the grace is over. It reports whether that was needed, and does
// not wait for what it killed.
func End(p *os.Process, ended <-chan struct{}, grace time.Duration) (killed bool) {
	select {
	case <-ended:
		return false
	default:
	}
	if terminate(p) {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-ended:
			return false
		case <-timer.C:
		}
	}
	Kill(p)
	return true
}
