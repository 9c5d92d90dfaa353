package redisenv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/procgroup"
)

const (
	startLimit = 10 * time.Second // a local server is ready in some 20 ms; a loaded machine may need longer
	stopGrace  = 3 * time.Second  // from SIGTERM to SIGKILL
)

// FindServer returns the path of the server that ModeLocal starts.
func FindServer() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither redis-server nor valkey-server is on PATH")
}

// startLocal starts a server process on a free loopback port, in a folder of its own.
func startLocal(ctx context.Context, o Options, so ServerOptions) (*Server, error) {
	path, err := FindServer()
	if err != nil {
		return nil, fmt.Errorf("--redis local: %w: install one, or use Docker or --redis redis://host:6379/0", err)
	}
	const attempts = 5 // a port that was free may be taken before the server binds it
	for i := 1; ; i++ {
		s, err := tryLocal(ctx, path, o, so)
		if err == nil || i == attempts || !errors.Is(err, errPortTaken) {
			return s, err
		}
	}
}

var errPortTaken = errors.New("the port was taken by another process")

func tryLocal(ctx context.Context, path string, o Options, so ServerOptions) (s *Server, err error) {
	dir, err := newServerDir(o.RunID)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	p := places{bind: "127.0.0.1", dir: dir}
	if p.port, err = freePort(so.Cluster); err != nil {
		return nil, err
	}
	s = &Server{name: "local " + filepath.Base(path)}
	s.info = ConnInfo{Host: p.bind, Port: p.port, Username: so.Username, Password: so.Password, TLS: so.TLS}
	if so.UnixSocket {
		if runtime.GOOS == "windows" {
			return nil, unavailable("no unix sockets on windows")
		}
		p.socket = filepath.Join(dir, "redis.sock")
		s.info.Socket = p.socket
	}
	if so.TLS {
		certs, err := newCertificates()
		if err == nil {
			err = certs.write(dir)
		}
		if err != nil {
			return nil, err
		}
		s.tls = clientTLS(certs[caFile])
		s.info.CAFile = filepath.Join(dir, caFile)
	}
	s.info.URL = urlOf(s.info)
	conf := filepath.Join(dir, "redis.conf")
	if err := os.WriteFile(conf, []byte(configFile(p, so)), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(path, conf)
	cmd.Dir = dir
	if so.Clock {
		if s.clock, err = newClock(dir, so.InitialSkew); err != nil {
			return nil, err
		}
		cmd.Env = append(os.Environ(), s.clock.env...)
	}
	proc, err := runServer(ctx, cmd)
	if err != nil {
		return nil, err
	}
	s.pid, s.done = cmd.Process.Pid, proc.exited
	s.stop = func() error {
		proc.stop()
		return os.RemoveAll(dir)
	}
	if err = s.settle(ctx, so); err == nil && so.Clock {
		if err = s.awaitClock(ctx, so.InitialSkew); err != nil && ctx.Err() == nil {
			err = unavailable("%v", err)
		}
	}
	if err != nil {
		proc.stop()
		return nil, err
	}
	s.name += " " + s.version
	fmt.Fprintf(o.Log, "redis: started %s on %s\n", s.name, s.Addr())
	return s, nil
}

// Ports for servers lie below those that systems hand out by themselves, so that between the look and the server's own
// start no connection and no proxy is given the port. A cluster node's bus listens 10000 above.
const (
	firstPort = 11000
	lastPort  = 21999
	busAbove  = 10000
)

// freePort finds a free loopback port, drawn by chance since others draw as well; for a cluster node the port of its bus
// must be free too.
func freePort(cluster bool) (int, error) {
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if free(port) && (!cluster || free(port+busAbove)) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port from %d to %d", firstPort, lastPort)
}

func free(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// serverProcess is a running server process.
type serverProcess struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has been waited for
	log    *tail
}

// runServer starts the command and returns when the server says that it accepts connections.
func runServer(ctx context.Context, cmd *exec.Cmd) (*serverProcess, error) {
	p := &serverProcess{cmd: cmd, exited: make(chan struct{}), log: &tail{}}
	// An os.Pipe and not StdoutPipe: Wait then does not close the reading end before the last line is read.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	cmd.SysProcAttr = procgroup.Attr()
	started := make(chan error, 1)
	go func() {
		// Linux ends the child when the thread that started it ends, so the thread stays until the child is gone.
		runtime.LockOSThread()
		err := cmd.Start()
		w.Close()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		r.Close()
		return nil, err
	}
	ready := make(chan struct{})
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		defer r.Close()
		p.follow(r, ready)
	}()
	timer := time.NewTimer(startLimit)
	defer timer.Stop()
	select {
	case <-ready:
		return p, nil
	case <-p.exited:
		<-drained
		text := p.log.String()
		if strings.Contains(text, "Address already in use") {
			return nil, fmt.Errorf("%w\n%s", errPortTaken, text)
		}
		return nil, fmt.Errorf("%s ended before it was ready (%v):\n%s", cmd.Path, cmd.ProcessState, text)
	case <-ctx.Done():
		p.stop()
		return nil, ctx.Err()
	case <-timer.C:
		p.stop()
		return nil, fmt.Errorf("%s was not ready within %v:\n%s", cmd.Path, startLimit, p.log)
	}
}

// follow keeps the end of the server's log and announces readiness.
func (p *serverProcess) follow(r io.Reader, ready chan<- struct{}) {
	br := bufio.NewReaderSize(r, 4096)
	announced := false
	for {
		line, err := br.ReadSlice('\n') // a longer line comes in pieces
		p.log.add(line)
		if !announced && strings.Contains(string(line), "Ready to accept connections") {
			announced = true
			close(ready)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// stop ends the process: politely, then by force.
func (p *serverProcess) stop() {
	procgroup.End(p.cmd.Process, p.exited, stopGrace)
	<-p.exited
}

// tail keeps the last lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line []byte) {
	text := strings.TrimSpace(string(line))
	if text == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, text); len(t.lines) > 10 {
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
