package mutants

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// dialed are options with which a store connects in another way; a store that
// shares a connection does not.
func dialed(o reference.Options, dial func(ctx context.Context, network, addr string) (net.Conn, error)) reference.Options {
	if o.Redis == nil || o.Redis.TLSConfig != nil {
		return o
	}
	options := *o.Redis
	options.Dialer = dial
	o.Redis = &options
	return o
}

// slow opens stores with four times the operation timeout.
func slow() targets.Provider {
	return refprovider.With(func(o reference.Options) reference.Options {
		o.OperationTimeout = 4 * timeoutOf(o)
		return o
	})
}

func timeoutOf(o reference.Options) time.Duration {
	if o.OperationTimeout == 0 {
		return reference.DefaultOperationTimeout
	}
	return o.OperationTimeout
}

// timeoutPerPhase bounds connecting and each read and write of a connection.
func timeoutPerPhase() targets.Provider {
	p := refprovider.With(func(o reference.Options) reference.Options {
		timeout := timeoutOf(o)
		o.OperationTimeout = time.Hour
		return dialed(o, func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{Timeout: timeout}).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return phased{conn, timeout}, nil
		})
	})
	return everyError(p, func(err error) error {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return &spi.Error{Kind: spi.KindTimeout, Message: "a phase took too long", Err: err}
		}
		return err
	})
}

// phased is a connection on which each read and write has the whole timeout.
type phased struct {
	net.Conn
	timeout time.Duration
}

func (c phased) Read(b []byte) (int, error) {
	if err := c.Conn.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c phased) Write(b []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// fewConnections lets a store connect 20 times.
func fewConnections() targets.Provider {
	return refprovider.With(func(o reference.Options) reference.Options {
		var made atomic.Int32
		return dialed(o, func(ctx context.Context, network, addr string) (net.Conn, error) {
			if made.Add(1) > 20 {
				return nil, errors.New("no connection left")
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		})
	})
}

// busyConnecting fails what comes while the first operation is under way.
func busyConnecting() targets.Provider {
	return around(refprovider.New(), func() func(context.Context, func(context.Context) error) error {
		var started, connected atomic.Bool
		return func(ctx context.Context, operation func(context.Context) error) error {
			if started.Swap(true) && !connected.Load() {
				return failure("not connected yet")
			}
			defer connected.Store(true)
			return operation(ctx)
		}
	})
}

// scriptsOnce hides from the client that a script which it has run before is
// missing: it fails instead of sending the script again.
func scriptsOnce() targets.Provider {
	return refprovider.With(func(o reference.Options) reference.Options {
		var ran sync.Map
		return dialed(o, func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &forgetful{Conn: conn, ran: &ran}, nil
		})
	})
}

// forgetful is a connection on which one command runs at a time.
type forgetful struct {
	net.Conn
	ran   *sync.Map // digests of scripts that the store has run
	known bool      // whether the script of this command is one of them
}

var digest = regexp.MustCompile(`(?i)^\*\d+\r\n\$7\r\nevalsha\r\n\$40\r\n([0-9a-f]{40})`)

func (c *forgetful) Write(b []byte) (int, error) {
	if m := digest.FindSubmatch(b); m != nil {
		_, c.known = c.ran.LoadOrStore(string(m[1]), true)
	}
	return c.Conn.Write(b)
}

func (c *forgetful) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.known && bytes.HasPrefix(b[:n], []byte("-NOSCRIPT")) {
		copy(b, "-NOSCRIPX")
	}
	return n, err
}
