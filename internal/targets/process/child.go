package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/procgroup"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
)

const (
	drainTime     = time.Second // for output that a dead child's own children hold open
	logLinesShown = 10          // lines of the log in a targets.TroubleError

	strayLinesShown = 5 // of stdout, when a target does not say hello
)

// child is one running adapter process.
type child struct {
	options Options
	log     *log
	process *os.Process
	stdin   *os.File
	out     chan []byte // lines for stdin
	calls   calls

	strayMu    sync.Mutex
	firstStray []string // notes on the first lines of stdout that were no messages

	silenced atomic.Bool // it is stopped because it keeps silent
	stopping sync.Once
	ended    chan struct{} // closed when the process has ended
	how      string        // how it ended, once ended is closed
}

// startChild starts the command. The child lives on when ctx ends.
func startChild(command []string, options Options, log *log) (*child, error) {
	var files []*os.File // stdin, stdout, stderr: the child's end, then ours
	closeAll := func(files []*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(files)
			return nil, targets.Troublef("cannot make a pipe to the target: %v", err)
		}
		files = append(files, r, w)
	}
	theirs := []*os.File{files[0], files[3], files[5]}
	stdin, stdout, stderr := files[1], files[2], files[4]

	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), protocol.EnvVersion+"="+strconv.Itoa(protocol.Version))
	cmd.Env = append(cmd.Env, options.env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	cmd.SysProcAttr = procgroup.Attr()
	c := &child{options: options, log: log, stdin: stdin, out: make(chan []byte), ended: make(chan struct{})}

	started := make(chan error)
	go func() {
		// The thread that starts the child stays until the child has ended: see
		// procgroup.Attr on Linux.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		c.process = cmd.Process
		closeAll(theirs)
		if err != nil {
			started <- err
			return
		}
		forget := atExit.add(func() { procgroup.Kill(cmd.Process) })
		defer forget()
		var reading sync.WaitGroup
		reading.Go(func() { c.read(stdout) })
		reading.Go(func() { log.copyFrom(stderr) })
		go c.write()
		close(started)

		_ = cmd.Wait()
		procgroup.Kill(cmd.Process) // what it started and left behind
		drained := make(chan struct{})
		go func() { reading.Wait(); close(drained) }()
		select {
		case <-drained:
		case <-time.After(drainTime):
		}
		closeAll([]*os.File{stdin, stdout, stderr})
		c.how = cmd.ProcessState.String()
		if c.silenced.Load() {
			c.how = "stopped, as it kept silent"
		}
		close(c.ended)
	}()
	if err := <-started; err != nil {
		closeAll([]*os.File{stdin, stdout, stderr})
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return nil, targets.Troublef("the target's command %q was not found: check its path%s; it is run without a shell",
				command[0], hereHint(command[0]))
		}
		if info, e := os.Stat(command[0]); e == nil && info.Mode().IsRegular() {
			return nil, targets.Troublef("the target's command %q cannot be started as a program (%v): make it executable, or "+
				"give its interpreter before it, as in 'node %s'",
				command[0], err, command[0])
		}
		return nil, targets.Troublef("the target's command %q cannot be started: %v", command[0], err)
	}
	return c, nil
}

// hereHint says how to name a file of the current folder, which a command
// without a slash does not mean.
func hereHint(command string) string {
	info, err := os.Stat(command)
	if err != nil || info.IsDir() || strings.ContainsAny(command, `/\`) {
		return ""
	}
	return fmt.Sprintf("; a file of this name is here: write %q, or its interpreter before it", "./"+command)
}

// hasEnded reports whether the process has ended.
func (c *child) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// died is the trouble of an operation that the child's end cut short.
func (c *child) died(operation string) *targets.TroubleError {
	e := targets.Troublef("the target ended (%s) before it answered %s", c.how, operation)
	e.Log = c.log.last(logLinesShown)
	return e
}

// write sends the queued lines.
func (c *child) write() {
	for {
		select {
		case line := <-c.out:
			c.options.traceLine("> ", line)
			if _, err := c.stdin.Write(line); err != nil {
				if !errors.Is(err, os.ErrClosed) {
					c.note("the target reads no more requests (%v)", err)
				}
				c.stop()
				return
			}
		case <-c.ended:
			return
		}
	}
}

// stop ends the child: it closes stdin, then asks it to terminate, then kills
// it with all that it started. It returns when the child has ended.
func (c *child) stop() {
	c.stopping.Do(func() {
		c.stdin.Close()
		if c.endsIn(c.options.grace) {
			return
		}
		c.note("the target goes on although its stdin was closed: terminating it")
		if !procgroup.End(c.process, c.ended, c.options.grace) {
			return
		}
		c.note("the target does not terminate: killed it")
		c.endsIn(c.options.grace + drainTime)
	})
}

func (c *child) endsIn(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-c.ended:
		return true
	case <-ctx.Done():
		return false
	}
}
