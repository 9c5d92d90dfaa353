package reference

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	defaultSessions = 64
	// never is longer than any operation: only the operation's context ends
	// waiting, never a deadline of the client library.
	never = 24 * time.Hour
)

var errConnectionClosed = errors.New("the store is closed")

// connection is the physical connection of one or more stores: a bounded set
// of sessions, made when they are needed. It is gone when its last user
// releases it.
type connection struct {
	options redis.Options
	dial    func(ctx context.Context, network, addr string) (net.Conn, error)
	turns   chan struct{} // one entry for each session in use

	mu    sync.Mutex
	idle  []*session
	users int
}

func newConnection(options *redis.Options) *connection {
	c := &connection{options: *options, dial: options.Dialer, users: 1}
	if c.dial == nil {
		c.dial = dialer(options.TLSConfig)
	}
	sessions := options.PoolSize
	if sessions <= 0 {
		sessions = defaultSessions
	}
	c.turns = make(chan struct{}, sessions)

	o := &c.options
	// A retry after a lost reply would apply a write twice.
	o.MaxRetries = -1
	o.DialerRetries = 1
	// One session runs one command at a time. Two, because a pool of one
	// answers every later call with its first dial error.
	o.PoolSize, o.PipelinePoolSize, o.MinIdleConns = 2, -1, 0
	o.ContextTimeoutEnabled = true
	// -2: the client sets no deadline, which would undo an interrupt.
	o.ReadTimeout, o.WriteTimeout = -2, -2
	o.DialTimeout, o.PoolTimeout = never, never
	// No command on the wire but the handshake and ours.
	o.Protocol = 2
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return c
}

// dialer connects under the operation's context, the TLS handshake included.
func dialer(config *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	if config == nil {
		return (&net.Dialer{}).DialContext
	}
	return (&tls.Dialer{Config: config}).DialContext
}

// acquire adds a user, unless the last one is gone already.
func (c *connection) acquire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users == 0 {
		return false
	}
	c.users++
	return true
}

// release removes a user. After the last one idle sessions are closed at once
// and those in use when their operation ends.
func (c *connection) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users--
	if c.users > 0 {
		return
	}
	for _, s := range c.idle {
		s.close()
	}
	c.idle = nil
}

// run runs command on a session of its own and returns when the command has
// ended or ctx is done, whichever is first; nothing of it goes on afterwards.
func (c *connection) run(ctx context.Context, command func(context.Context, *redis.Client) error) error {
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s, err := c.take()
	if err != nil {
		return err
	}
	reusable, err := s.run(ctx, command)
	c.give(s, reusable)
	return err
}

func (c *connection) take() (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users == 0 {
		return nil, errConnectionClosed
	}
	if last := len(c.idle) - 1; last >= 0 {
		s := c.idle[last]
		c.idle = c.idle[:last]
		return s, nil
	}
	return newSession(c.options, c.dial), nil
}

func (c *connection) give(s *session, reusable bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !reusable || c.users == 0 {
		s.close()
		return
	}
	c.idle = append(c.idle, s)
}
