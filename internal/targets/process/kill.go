package process

import "sync"

// atExit holds what a process that ends without closing its targets has to do
// for each of them. It is global because that process is about to: whoever
// started a target is not asked any more.
var atExit = duties{open: map[*func()]bool{}}

type duties struct {
	mu   sync.Mutex
	over bool
	open map[*func()]bool
}

// add registers a duty; the function it returns takes it back. After KillAll
// the duty is done at once.
func (d *duties) add(duty func()) (forget func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		duty()
	}
	d.open[&duty] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.open, &duty)
	}
}

// KillAll kills every adapter process that this process started, with all that
// it started, and removes the targets' temporary files. It is for a process
// that is about to end: targets that start later are killed at once.
func KillAll() {
	atExit.mu.Lock()
	defer atExit.mu.Unlock()
	atExit.over = true
	for duty := range atExit.open {
		(*duty)()
	}
}
