package redisenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Command is one command that a client sent through a proxy.
type Command struct {
	Conn      int    // number of the client's connection, from 1
	Name      string // upper case
	Key       string // the first key; of a command without keys, its first argument
	Size      int64  // bytes on the wire; 0 until the command has passed whole
	Handshake bool   // connection set-up and looking around, not part of an operation
	Forwarded bool   // sent on to Redis, not cut off, swallowed, held or answered by the proxy
}

// maxLog bounds the commands that a proxy remembers.
const maxLog = 10_000

// Proxy stands between a client and a Redis, understands RESP and acts on single commands. Faults are a table: the first
// armed one that matches a command acts on it. It does not count replies to CLIENT REPLY OFF, and a client that asks a
// cluster for its nodes is sent around it.
type Proxy struct {
	upstream *Server
	info     ConnInfo
	wg       sync.WaitGroup
	held     []net.Conn // the two ends of a connection that keeps the port

	mu       sync.Mutex
	listener net.Listener // nil while refusing
	closed   bool
	faults   []*Fault
	conns    map[*proxyConn]struct{}
	total    int
	log      []*Command
	logStart int // commands that were forgotten
}

// NewProxy starts a proxy to upstream on a free loopback port. It ends with ctx or with [Proxy.Close].
func NewProxy(ctx context.Context, upstream *Server) (*Proxy, error) {
	if upstream.tls != nil || upstream.info.Host == "" {
		return nil, unavailable("the fault proxy speaks plain TCP only, and %s does not", upstream.Name())
	}
	p := &Proxy{upstream: upstream, info: upstream.ConnInfo(), conns: map[*proxyConn]struct{}{}}
	p.info.Host, p.info.Port, p.info.Socket = "127.0.0.1", 0, ""
	l, err := net.Listen("tcp", p.Addr())
	if err != nil {
		return nil, err
	}
	if p.held, err = holdPort(l); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	p.accept(l)
	p.info.Port = l.Addr().(*net.TCPAddr).Port
	p.info.URL = urlOf(p.info)
	context.AfterFunc(ctx, func() { p.Close() })
	return p, nil
}

// Addr is the proxy's address as host:port.
func (p *Proxy) Addr() string { return fmt.Sprintf("%s:%d", p.info.Host, p.info.Port) }

// ConnInfo returns how to reach the server through the proxy.
func (p *Proxy) ConnInfo() ConnInfo { return p.info }

// Options returns fresh go-redis options for the server behind the proxy.
func (p *Proxy) Options() *redis.Options {
	o := p.upstream.Options()
	o.Addr = p.Addr()
	return o
}

// holdPort connects to a listener that nobody else knows yet. While both ends are open the system gives the port to
// nobody else, also when nothing listens on it: a port that a proxy refuses on must still be its own afterwards.
func holdPort(l net.Listener) ([]net.Conn, error) {
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	far, err := l.Accept()
	if err != nil {
		return nil, errors.Join(err, near.Close())
	}
	return []net.Conn{near, far}, nil
}

// reopenLimit bounds the wait for a port that is not free at once.
const reopenLimit = 2 * time.Second

// listen opens the proxy's port again; p.mu is held. A process that is started just then has the closed listener for a
// moment too, until it becomes another program: so long the port is taken.
func (p *Proxy) listen() error {
	var taken error
	err := poll(context.Background(), reopenLimit, func() (bool, error) {
		l, err := net.Listen("tcp", p.Addr())
		if errors.Is(err, syscall.EADDRINUSE) {
			taken = err
			return false, nil
		}
		if err == nil {
			p.accept(l)
		}
		return true, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return taken
	}
	return err
}

// accept serves a listener; p.mu is held or p not yet shared.
func (p *Proxy) accept(l net.Listener) {
	p.listener = l
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.serve(c.(*net.TCPConn))
		}
	})
}

// Arm adds a fault. It acts on open and on new connections until [Proxy.Reset].
func (p *Proxy) Arm(m Match, a Action) *Fault {
	f := &Fault{match: m, action: a, fired: make(chan struct{}), released: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
	return f
}

// Refuse closes the proxy's port, so that new connections are refused, until [Proxy.Reset]. Open connections stay;
// [Proxy.CutAll] ends them.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
}

// CutAll resets every open connection.
func (p *Proxy) CutAll() {
	for _, c := range p.open() {
		c.cut(true)
	}
}

func (p *Proxy) open() []*proxyConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var cs []*proxyConn
	for c := range p.conns {
		cs = append(cs, c)
	}
	return cs
}

// Reset disarms all faults, lets go what they hold and accepts connections again. A connection that was swallowed stays
// silent. The error says that the proxy's port could not be opened again.
func (p *Proxy) Reset() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		f.Release()
	}
	p.faults = nil
	if p.listener != nil || p.closed {
		return nil
	}
	return p.listen()
}

// Close ends the proxy and all connections through it. It may be called more than once.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Refuse()
	err := p.Reset()
	p.CutAll()
	p.wg.Wait()
	for _, c := range p.held {
		c.Close()
	}
	return err
}

// Mark is a place in the proxy's log of commands.
type Mark int

// Mark returns the present end of the log.
func (p *Proxy) Mark() Mark {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Mark(p.logStart + len(p.log))
}

// CommandsSince returns the commands that came after the mark, without those of the handshake. A command is in the log
// before it reaches Redis. At most the last 10,000 commands are remembered.
func (p *Proxy) CommandsSince(m Mark) []Command {
	p.mu.Lock()
	defer p.mu.Unlock()
	var cs []Command
	for _, c := range p.log[max(0, min(len(p.log), int(m)-p.logStart)):] {
		if !c.Handshake {
			cs = append(cs, *c)
		}
	}
	return cs
}

// Connections returns how many connections are open, and how many there were in all.
func (p *Proxy) Connections() (open, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns), p.total
}

// note logs a command and returns the fault that acts on it, nil if none.
func (p *Proxy) note(c *Command) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.log) == maxLog {
		p.log = slices.Delete(p.log, 0, maxLog/2)
		p.logStart += maxLog / 2
	}
	p.log = append(p.log, c)
	return p.pick(func(m Match) bool { return m.matches(c) })
}

// noteConnect is note for a new connection.
func (p *Proxy) noteConnect() *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pick(func(m Match) bool { return m.Connect })
}

// pick counts the match in every fault and returns the first that acts; p.mu is held.
func (p *Proxy) pick(matches func(Match) bool) *Fault {
	var acting *Fault
	for _, f := range p.faults {
		if matches(f.match) && f.hit() && acting == nil {
			acting = f
		}
	}
	return acting
}

// forwarded notes that the command goes to Redis; it is called before the first byte does.
func (p *Proxy) forwarded(c *Command) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Forwarded = true
}

// passed notes the size of a command that has passed whole.
func (p *Proxy) passed(c *Command, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Size = size
}

// serve takes a new connection.
func (p *Proxy) serve(client *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		client.Close()
		return
	}
	p.total++
	c := &proxyConn{p: p, number: p.total, client: client, done: make(chan struct{})}
	c.idle = sync.NewCond(&c.mu)
	p.conns[c] = struct{}{}
	p.wg.Go(func() {
		defer func() {
			c.cut(false)
			p.mu.Lock()
			delete(p.conns, c)
			p.mu.Unlock()
		}()
		c.run()
	})
}

// dialUpstream connects to the server itself.
func (p *Proxy) dialUpstream() (*net.TCPConn, error) {
	c, err := net.DialTimeout("tcp", p.upstream.Addr(), 5*time.Second)
	if err != nil {
		return nil, err
	}
	t, ok := c.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(errors.New("redisenv: not a TCP connection"), c.Close())
	}
	return t, nil
}
