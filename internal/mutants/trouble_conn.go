package mutants

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// inWindows bounds parts of an operation, each by the whole timeout: with
// scripts, sending a script; without, setting a connection up.
func inWindows(scripts bool) targets.Provider {
	p := refprovider.With(func(o reference.Options) reference.Options {
		timeout := timeoutOf(o)
		o.OperationTimeout = time.Hour
		return dialed(o, func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{Timeout: timeout}).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &windowed{Conn: conn, timeout: timeout, scripts: scripts}, conn.SetDeadline(time.Now().Add(timeout))
		})
	})
	return everyError(p, func(err error) error {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return &spi.Error{Kind: spi.KindTimeout, Message: "a part took too long", Err: err}
		}
		return err
	})
}

// windowed is a connection on which a new part begins with some commands: the
// operation with its EVALSHA, and the EVAL that may follow.
type windowed struct {
	net.Conn
	timeout time.Duration
	scripts bool
	used    bool // by an operation before
}

var commandName = regexp.MustCompile(`(?i)^\*\d+\r\n\$\d+\r\n(evalsha|eval)\r\n`)

func (c *windowed) Write(b []byte) (int, error) {
	if m := commandName.FindSubmatch(b); m != nil {
		script := len(m[1]) == len("eval")
		// The first operation goes on in the time of the set-up, unless that has its own.
		if script && c.scripts || !script && (c.used || !c.scripts) {
			if err := c.Conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
				return 0, err
			}
		}
		c.used = true
	}
	return c.Conn.Write(b)
}

// setUpOnce changes what later connections of a store send.
func setUpOnce(later func(reference.Options) func([]byte) []byte) targets.Provider {
	return refprovider.With(func(o reference.Options) reference.Options {
		if o.Redis == nil {
			return o
		}
		change := later(o)
		var made atomic.Int32
		return dialed(o, func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil || made.Add(1) == 1 {
				return conn, err
			}
			return &setUpChanged{Conn: conn, change: change}, nil
		})
	})
}

// setUpChanged changes the first bytes of a connection, up to the first script.
type setUpChanged struct {
	net.Conn
	change func([]byte) []byte
}

func (c *setUpChanged) Write(b []byte) (int, error) {
	if commandName.Match(b) {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(c.change(bytes.Clone(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

var selects = regexp.MustCompile(`(?i)(\$6\r\nselect\r\n)\$\d+\r\n\d+\r\n`)

func databaseZero(reference.Options) func([]byte) []byte {
	return func(b []byte) []byte { return selects.ReplaceAll(b, []byte("${1}$$1\r\n0\r\n")) }
}

func noPassword(o reference.Options) func([]byte) []byte {
	password := []byte(o.Redis.Password)
	return func(b []byte) []byte {
		if len(password) == 0 {
			return b
		}
		return bytes.ReplaceAll(b, password, bytes.Repeat([]byte("-"), len(password)))
	}
}

// tlsOnce speaks TLS on the first connection of a store.
func tlsOnce() targets.Provider {
	return refprovider.With(func(o reference.Options) reference.Options {
		if o.Redis == nil || o.Redis.TLSConfig == nil {
			return o
		}
		var made atomic.Int32
		config := o.Redis.TLSConfig
		options := *o.Redis
		options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if made.Add(1) > 1 {
				return new(net.Dialer).DialContext(ctx, network, addr)
			}
			return (&tls.Dialer{Config: config}).DialContext(ctx, network, addr)
		}
		o.Redis = &options
		return o
	})
}
