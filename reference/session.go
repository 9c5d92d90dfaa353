package reference

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// session is one connection to Redis, used by one operation at a time. It
// exists because go-redis does not wake a blocked read or write when a context
// is cancelled: the session knows its net.Conn and can. So an operation ends
// when it should, and with it every use of the caller's buffers (L6.input-bytes).
type session struct {
	client *redis.Client

	mu          sync.Mutex
	ctx         context.Context // of the operation that uses the session
	conn        net.Conn
	interrupted bool
}

func newSession(options redis.Options, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *session {
	s := &session{}
	options.Dialer = func(_ context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(s.context(), network, addr)
		if err != nil {
			return nil, err
		}
		if err := s.adopt(conn); err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
	s.client = redis.NewClient(&options)
	return s
}

// run runs command and answers whether the session may be used again.
func (s *session) run(ctx context.Context, command func(context.Context, *redis.Client) error) (reusable bool, err error) {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, s.interrupt)
	err = command(ctx, s.client)
	return stop() && (err == nil || answered(err)), err
}

// interrupt ends whatever waits on the connection, for good.
func (s *session) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupted = true
	if s.conn != nil {
		s.conn.SetDeadline(time.Unix(1, 0))
	}
}

func (s *session) context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx
}

func (s *session) adopt(conn net.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.interrupted {
		return s.ctx.Err()
	}
	s.conn = conn
	return nil
}

func (s *session) close() { s.client.Close() }

// answered says that err is Redis's own answer: the connection is in order.
func answered(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}
