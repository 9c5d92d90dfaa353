package mutants

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// halfOpenReused keeps a connection on which an operation timed out, and uses
// it again instead of a new one.
func halfOpenReused() targets.Provider {
	return refprovider.With(func(o reference.Options) reference.Options {
		kept := make(chan net.Conn, 64)
		return dialed(o, func(ctx context.Context, network, addr string) (net.Conn, error) {
			select {
			case conn := <-kept:
				return conn, conn.SetDeadline(time.Time{})
			default:
			}
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &halfOpen{Conn: conn, kept: kept}, nil
		})
	})
}

type halfOpen struct {
	net.Conn
	kept chan net.Conn

	mu     sync.Mutex
	silent bool
}

func (c *halfOpen) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

func (c *halfOpen) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent {
		c.silent = false
		select {
		case c.kept <- c:
			return nil
		default:
		}
	}
	return c.Conn.Close()
}

// connectsForEver connects one connection at a time, and whoever needs one
// awaits the attempt that is under way, however long it takes.
func connectsForEver() targets.Provider {
	return refprovider.With(func(o reference.Options) reference.Options {
		var mu sync.Mutex
		var current chan net.Conn // of the attempt that is under way
		return dialed(o, func(ctx context.Context, network, addr string) (net.Conn, error) {
			mu.Lock()
			if current == nil {
				current = make(chan net.Conn, 1)
				go func(attempt chan net.Conn) {
					conn := greeted(network, addr)
					mu.Lock()
					defer mu.Unlock()
					current = nil
					if conn != nil {
						attempt <- conn
					}
					close(attempt)
				}(current)
			}
			attempt := current
			mu.Unlock()
			select {
			case conn, ok := <-attempt:
				if !ok { // it failed, or somebody else took it
					return new(net.Dialer).DialContext(ctx, network, addr)
				}
				return conn, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
	})
}

// greeted is a connection on which Redis has answered, or nil.
func greeted(network, addr string) net.Conn {
	conn, err := net.Dial(network, addr)
	if err != nil {
		return nil
	}
	if _, err = conn.Write([]byte("PING\r\n")); err == nil {
		_, err = bufio.NewReaderSize(conn, 16).ReadString('\n')
	}
	if err != nil {
		conn.Close()
		return nil
	}
	return conn
}

// pipelines sends a pipeline before each read, and bounds connecting, the
// pipeline and the read each by the whole timeout.
func pipelines() targets.Provider {
	return hooked(timeoutPerPhase(), nil, func(r *relocation) {
		var mu sync.Mutex
		var ahead *redis.Client
		r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
			mu.Lock()
			defer mu.Unlock()
			if ahead == nil && r.config.Share == nil {
				o, err := refprovider.Options(r.config)
				if err != nil {
					return nil, err
				}
				own := *o.Redis
				own.MaxRetries, own.ReadTimeout, own.DisableIdentity = -1, timeoutOf(o), true
				ahead = redis.NewClient(&own)
			}
			if ahead != nil {
				if _, err := ahead.Pipelined(ctx, func(p redis.Pipeliner) error {
					for range 4 {
						p.Time(ctx)
					}
					return nil
				}); err != nil {
					return nil, &spi.Error{Kind: spi.KindTimeout, Message: "the pipeline failed", Err: err}
				}
			}
			return r.RelocationStore.Read(ctx, ref)
		}
		r.close = func() error {
			mu.Lock()
			defer mu.Unlock()
			if ahead != nil {
				ahead.Close()
			}
			return r.RelocationStore.Close()
		}
	})
}
