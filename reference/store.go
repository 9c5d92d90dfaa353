package reference

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// store is what both stores are made of.
type store struct {
	conn    *connection
	prefix  string
	timeout time.Duration
	closed  atomic.Bool
}

func (s *store) base() *store { return s }

// Close disposes the store; later calls do nothing. It may run beside
// operations, which then end as usual; those that start later are store
// failures (L7.dispose, R7.shared).
func (s *store) Close() error {
	if s.closed.CompareAndSwap(false, true) {
		s.conn.release()
	}
	return nil
}

// ready answers why no operation may start: a done context (L6.cancel-before)
// or a closed store.
func (s *store) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return contextError(err)
	}
	if s.closed.Load() {
		return storeFailure(errConnectionClosed)
	}
	return nil
}

// eval runs a script once, under the operation timeout (R5.timeout). The source
// is sent only if Redis answers that it does not know the script; nothing has
// run then, so this is no retry of a write.
func (s *store) eval(ctx context.Context, script *redis.Script, key string, args ...any) (reply, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var fields []any
	err := s.conn.run(ctx, func(ctx context.Context, client *redis.Client) (err error) {
		fields, err = script.Run(ctx, client, []string{key}, args...).Slice()
		return err
	})
	switch {
	case err == nil:
		return fields, nil
	case !answered(err) && ctx.Err() != nil:
		return nil, contextError(ctx.Err())
	}
	return nil, storeFailure(err)
}

// contextError keeps timeout and cancellation apart (L6.unknown-outcome).
func contextError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &spi.Error{Kind: spi.KindTimeout,
			Message: "the operation timeout passed; whether Redis applied the operation is unknown", Err: err}
	}
	return &spi.Error{Kind: spi.KindCancelled, Message: "the caller cancelled the operation", Err: err}
}

func storeFailure(err error) error {
	return &spi.Error{Kind: spi.KindStoreFailure, Type: fmt.Sprintf("%T", err), Message: err.Error(), Err: err}
}

// reply is a script's answer: its kind, where there is more than one, and texts.
type reply []any

var errReply = errors.New("Redis answered a script in an unexpected shape")

func (r reply) text(i int) (string, error) {
	if i < len(r) {
		if s, ok := r[i].(string); ok {
			return s, nil
		}
	}
	return "", storeFailure(errReply)
}

func (r reply) millis(i int) (spi.Millis, error) {
	text, err := r.text(i)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, storeFailure(errReply)
	}
	return spi.Millis(n), nil
}

// bytesOf gives the bytes of a text that go-redis has just read for one reply.
// Nobody else holds them, so they are handed on instead of copied: a blob is
// 64 MiB.
func bytesOf(text string) []byte {
	if text == "" {
		return []byte{}
	}
	return unsafe.Slice(unsafe.StringData(text), len(text))
}
