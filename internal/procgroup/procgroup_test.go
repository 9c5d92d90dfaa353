package procgroup

import (
	"bufio"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// A process that obeys ends by itself; one that does not is killed with its
// children, which hold its stdout open.
func TestEnd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	for script, wantKilled := range map[string]bool{
		"sleep 600 & echo ready; wait":                                          false,
		"trap '' TERM; sleep 600 & echo ready; while :; do wait; sleep 1; done": true,
		"echo ready": false,
		"(trap '' TERM; echo ready; sleep 600) & trap 'exit 0' TERM; wait; sleep 600": false,
	} {
		cmd := exec.Command("sh", "-c", script)
		cmd.SysProcAttr = Attr()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		runtime.LockOSThread() // see Attr on Linux
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if line, err := lines.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%s: wrote %q, %v", script, line, err)
		}
		ended := make(chan struct{})
		go func() {
			_, _ = cmd.Process.Wait()
			close(ended)
		}()
		grace := 30 * time.Second
		if wantKilled {
			grace = 50 * time.Millisecond
		}
		if script == "echo ready" {
			<-ended
		}
		if killed := End(cmd.Process, ended, grace); killed != wantKilled {
			t.Errorf("%s: killed %t, want %t", script, killed, wantKilled)
		}
		<-ended
		Kill(cmd.Process) // what it left behind
		if _, err := lines.ReadByte(); err == nil {
			t.Errorf("%s: it wrote more", script)
		}
		runtime.UnlockOSThread()
	}
}
