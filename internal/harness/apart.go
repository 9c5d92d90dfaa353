package harness

// Apart runs one of several checks that do not depend on each other: what
// stops it is recorded as ever, and the case goes on after it, so that the
// first finding does not hide those of the other checks. It reports whether
// the check came to its end. A skip, trouble or the end of the case's time
// still end the case.
func (t *T) Apart(check func()) (done bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		t.mu.Lock()
		over := t.verdict != ""
		t.mu.Unlock()
		if _, ok := p.(stop); !ok || over || t.ctx.Err() != nil {
			panic(p)
		}
	}()
	check()
	return true
}
