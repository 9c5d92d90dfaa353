// Package redisenv provides the Redis (or Valkey) that a conformance run tests on: a container, a local server process
// or a server given by URL; further servers beside it with a moved clock, TLS, a password or another topology; and a
// fault proxy that acts on single commands.
//
// Everything that this package starts is stopped by [Env.Close], and also when the process dies without calling it:
// at once where the system permits (a local server on Linux), by the next run otherwise. A server given by URL is never
// configured, flushed or stopped.
package redisenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Modes of [Options.Mode]; every other value is a server's URL.
const (
	ModeAuto   = "auto"   // Docker where it can be reached, else a local server
	ModeDocker = "docker" // a container
	ModeLocal  = "local"  // redis-server or valkey-server from PATH
)

// Topologies of [Options.Topology].
const (
	TopologyStandalone = "standalone"
	TopologyCluster    = "cluster" // one node that owns all slots, so that a command over two slots fails
)

// DefaultImage is the container image used when [Options.Image] is empty.
const DefaultImage = "redis:8"

// Options says which Redis a run tests on.
type Options struct {
	Mode     string    // ModeAuto (also when empty), ModeDocker, ModeLocal or a redis://, rediss:// or unix:// URL
	Image    string    // container image; DefaultImage when empty
	Topology string    // TopologyStandalone when empty
	Log      io.Writer // what was chosen and why, and the log of the container library; discarded when nil
	RunID    string    // names the run in temporary folders and container labels; may be empty
}

// Unavailable says that a wished server can't be had here, and why. A case that needs it is skipped with Reason.
type Unavailable struct{ Reason string }

func (u *Unavailable) Error() string { return u.Reason }

func unavailable(format string, args ...any) error {
	return &Unavailable{Reason: fmt.Sprintf(format, args...)}
}

// Env is the main server of a run and whatever was started beside it.
type Env struct {
	opts Options
	mode string // ModeDocker, ModeLocal or ModeURL of the main server
	main *Server
	note string

	mu      sync.Mutex
	closed  bool
	servers []*Server // all that were started, the main one included
}

const modeURL = "url"

// Start starts the main server, or connects to the given one, and returns when it answers. If no way to a Redis works
// here, it fails within two seconds with an error that names the three ways.
func Start(ctx context.Context, o Options) (*Env, error) {
	if o.Mode == "" {
		o.Mode = ModeAuto
	}
	if o.Image == "" {
		o.Image = DefaultImage
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	o.Log = &lockedWriter{w: o.Log}
	var so ServerOptions
	switch o.Topology {
	case "", TopologyStandalone:
	case TopologyCluster:
		so.Cluster = true
	default:
		return nil, fmt.Errorf("unknown topology %q: use %s or %s", o.Topology, TopologyStandalone, TopologyCluster)
	}
	e := &Env{opts: o}
	mode, s, err := e.startMain(ctx, so)
	if err != nil {
		return nil, err
	}
	e.mode, e.main, e.servers = mode, s, []*Server{s}
	return e, nil
}

// startMain chooses the way to the main server.
func (e *Env) startMain(ctx context.Context, so ServerOptions) (mode string, s *Server, err error) {
	switch o := e.opts; {
	case o.Mode == ModeLocal:
		s, err = startLocal(ctx, o, so)
		return ModeLocal, s, err
	case o.Mode == ModeDocker:
		if err := dockerReachable(ctx); err != nil {
			return "", nil, fmt.Errorf("--redis docker: %w", err)
		}
		s, err = startDocker(ctx, o, so)
		return ModeDocker, s, err
	case o.Mode == ModeAuto:
		return e.startAuto(ctx, so)
	case strings.Contains(o.Mode, "://"):
		s, err = connectURL(ctx, o.Mode, so)
		return modeURL, s, err
	default:
		return "", nil, fmt.Errorf("--redis %q: use %s, %s, %s or a URL such as redis://host:6379/0", o.Mode, ModeAuto,
			ModeDocker, ModeLocal)
	}
}

// startAuto prefers a container, because its version is chosen by the user and not by the machine. It does not make the
// user wait for a download when a local server can start at once.
func (e *Env) startAuto(ctx context.Context, so ServerOptions) (string, *Server, error) {
	o := e.opts
	_, noLocal := FindServer()
	dockerErr := dockerReachable(ctx)
	if dockerErr == nil && noLocal == nil {
		dockerErr = imagePresent(ctx, o.Image)
	}
	if dockerErr == nil {
		s, err := startDocker(ctx, o, so)
		if err == nil {
			return ModeDocker, s, nil
		}
		dockerErr = err
	}
	if ctx.Err() != nil {
		return "", nil, ctx.Err()
	}
	fmt.Fprintf(o.Log, "redis: not using Docker: %v\n", dockerErr)
	if noLocal != nil {
		return "", nil, fmt.Errorf("no Redis to test on; any of these works: start Docker (%v), "+
			"install redis-server or valkey-server on PATH (none found), or give a server with --redis redis://host:6379/0",
			dockerErr)
	}
	s, err := startLocal(ctx, o, so)
	if missing, ok := errors.AsType[*missingImage](dockerErr); ok && err == nil {
		e.note = fmt.Sprintf("testing on %s: %v", s.name, missing)
	}
	return ModeLocal, s, err
}

// Note says in one line which server ModeAuto took when a Docker engine was there but not its image; "" otherwise.
func (e *Env) Note() string { return e.note }

// Main returns the server that the run tests on.
func (e *Env) Main() *Server { return e.main }

// Extra starts one more server, in the main server's mode where that can be. A wish that only a local process can fulfil
// (a clock of its own, a unix socket) uses a local server also beside a container; beside a given URL any way is taken.
// The error is an [*Unavailable] when such a server can't be had here.
func (e *Env) Extra(ctx context.Context, so ServerOptions) (*Server, error) {
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return nil, errors.New("redisenv: Extra after Close")
	}
	s, err := e.startExtra(ctx, so)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errors.Join(errors.New("redisenv: closed while a server was starting"), s.Close())
	}
	e.servers = append(e.servers, s)
	return s, nil
}

func (e *Env) startExtra(ctx context.Context, so ServerOptions) (*Server, error) {
	_, noLocal := FindServer()
	if so.Clock || so.UnixSocket {
		if noLocal != nil {
			return nil, unavailable("needs redis-server or valkey-server on PATH (for a clock of its own or a unix socket)")
		}
		return startLocal(ctx, e.opts, so)
	}
	switch {
	case e.mode == ModeDocker:
		return startDocker(ctx, e.opts, so)
	case noLocal == nil && so.Image == "":
		return startLocal(ctx, e.opts, so)
	}
	if err := dockerReachable(ctx); err != nil {
		return nil, unavailable("needs a second server: neither redis-server nor valkey-server on PATH, and %v", err)
	}
	return startDocker(ctx, e.opts, so)
}

// Close stops every server of this environment. It may be called more than once.
func (e *Env) Close() error {
	e.mu.Lock()
	e.closed = true
	servers := e.servers
	e.servers = nil
	e.mu.Unlock()
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { errs[i] = s.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// lockedWriter lets several servers log at the same time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
