//go:build !unix

package harness

// enoughFiles has nothing to check: there is no such limit.
func enoughFiles() error { return nil }
