// Package reference is the complete reference provider: both stores on Redis 7
// or newer, in the official layout. Each operation is one script, so that what
// it reads, decides and writes is one observation and one commit.
package reference

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// DefaultOperationTimeout bounds an operation if Options name no other time.
const DefaultOperationTimeout = 5 * time.Second

// Options say how a store is opened.
type Options struct {
	// Redis is the server to connect to: address, credentials, database, TLS,
	// dialer. Its timeouts, retries and pool settings are replaced, except that
	// PoolSize bounds the number of connections (default 64).
	Redis *redis.Options
	// Share is an open store of which the physical connection is used instead
	// of an own one; Redis is then ignored. Closing either store leaves the
	// other working (L7.dispose, R7.shared).
	Share Store
	// KeyPrefix is the key namespace; it contains no brace (L9.prefix).
	KeyPrefix string
	// OperationTimeout bounds connecting and command together (R5.timeout).
	// Zero means DefaultOperationTimeout.
	OperationTimeout time.Duration
	// Rewrite, if not nil, replaces the source of each script by what it
	// returns. It makes deliberately wrong providers out of this one.
	Rewrite func(script, source string) string
}

// Store is a *Location or a *Relocation.
type Store interface {
	Close() error
	base() *store
}

// OpenLocation opens a Location Store without any I/O: the first operation
// connects. Errors are argument errors.
func OpenLocation(options Options) (*Location, error) {
	s, err := openStore(options)
	if err != nil {
		return nil, err
	}
	load := scriptLoader(options.Rewrite)
	return &Location{
		store: s,
		read:  load("location_read", "clock"),
		write: load("location_write", "clock", "member", "history"),
		scan:  load("location_scan", "clock", "member", "history"),
	}, nil
}

// OpenRelocation opens a Relocation Store without any I/O: the first operation
// connects. Errors are argument errors.
func OpenRelocation(options Options) (*Relocation, error) {
	s, err := openStore(options)
	if err != nil {
		return nil, err
	}
	load := scriptLoader(options.Rewrite)
	return &Relocation{
		store:  s,
		put:    load("relocation_put", "clock", "blob"),
		read:   load("relocation_read", "clock", "blob"),
		renew:  load("relocation_renew", "clock", "blob"),
		delete: load("relocation_delete", "clock", "blob"),
	}, nil
}

func openStore(options Options) (*store, error) {
	if err := layout.ValidatePrefix(options.KeyPrefix); err != nil {
		return nil, err
	}
	timeout := options.OperationTimeout
	if timeout < 0 {
		return nil, spi.Argument("operation timeout %v is negative", timeout)
	}
	if timeout == 0 {
		timeout = DefaultOperationTimeout
	}
	conn, err := connectionFor(options)
	if err != nil {
		return nil, err
	}
	return &store{conn: conn, prefix: options.KeyPrefix, timeout: timeout}, nil
}

func connectionFor(options Options) (*connection, error) {
	if options.Share != nil {
		conn := options.Share.base().conn
		if !conn.acquire() {
			return nil, spi.Argument("the store to share a connection with is closed")
		}
		return conn, nil
	}
	if options.Redis == nil {
		return nil, spi.Argument("no Redis to connect to: set Redis or Share")
	}
	return newConnection(options.Redis), nil
}
