// Package targets says what a provider under test is, and makes one of a
// provider in this process (the reference, a mutant). Package process makes one
// of an adapter process. The Go kit serves what is said here, so that this
// package has no client of Redis and no engine of containers in its luggage.
package targets

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Capabilities that a target may announce. Cases that need an absent one are
// skipped with that reason.
const (
	CapCancellation     = "cancellation"      // its SPI has a cancellation token
	CapValueCondition   = "condition.value"   // it knows spi.ValueCondition
	CapSharedConnection = "shared-connection" // two stores can share a connection
	CapSurface          = "surface"           // it lists its public declarations
	CapUnixSocket       = "unix-socket"       // it connects over a unix socket
	CapTLS              = "tls"               // it connects over TLS
	CapClock            = "clock"             // its runtime obeys a faked host clock
)

// Capabilities are the names of all capabilities.
func Capabilities() []string {
	return []string{CapCancellation, CapValueCondition, CapSharedConnection, CapSurface, CapUnixSocket, CapTLS, CapClock}
}

// Layouts that a target may announce.
const (
	LayoutOfficial = "official" // the official Redis layout (L9, R8)
	LayoutNone     = "none"     // the SPI alone
)

// Stores that a target may offer.
const (
	StoreLocation   = "location"
	StoreRelocation = "relocation"
)

// Info is what a target says of itself in its hello.
type Info = protocol.Info

// Target is a provider under test. It is safe for concurrent use.
type Target interface {
	Info() Info
	// OpenLocation opens a Location Store instance.
	OpenLocation(ctx context.Context, config StoreConfig) (Location, error)
	// OpenRelocation opens a Relocation Store instance.
	OpenRelocation(ctx context.Context, config StoreConfig) (Relocation, error)
	// Surface returns the names of the public declarations of the provider's
	// Redis package (capability "surface").
	Surface(ctx context.Context) ([]string, error)
	// Another starts the same target once more, in a process of its own: it
	// shares nothing with this one but Redis. The caller closes it.
	Another(ctx context.Context) (Target, error)
	// Log returns the lines that the target logged since the mark, and a new
	// mark. The log is bounded: old lines may be gone.
	Log(mark int64) (lines []string, next int64)
	// Close ends the target and everything that it started.
	Close() error
}

// Skewer is a Target that can be had once more with another host clock
// (capability "clock").
type Skewer interface {
	// Skewed returns the same target as if its host's clock ran offset ahead,
	// behind when negative. The caller closes it.
	Skewed(ctx context.Context, offset time.Duration) (Target, error)
}

// ConnInfo says where a store's Redis is and how to log in.
type ConnInfo = protocol.ConnInfo

// StoreConfig says how to open a store. To a Provider's functions, Share is the
// store as the provider itself opened it.
type StoreConfig struct {
	Redis            ConnInfo
	KeyPrefix        string
	OperationTimeout time.Duration // 0: the provider's default, 5 s
	Share            Store         // share the physical connection of this store, if not nil
}

// Store is a Location or Relocation that a target opened.
type Store interface{ Close() error }

// Recheck answers what the buffer of a held result holds now (L3.result-stable).
type Recheck func(ctx context.Context) ([]byte, error)

// Location is a target's Location Store. An operation is given up at once when
// the CaseContext above its own context ends; any other cancellation is passed
// on to the target as its token, and the answer is still awaited. After each
// operation the target's side has overwritten the input buffers that the
// provider was given (L6.input-bytes).
type Location interface {
	spi.LocationStore
	// ReadHeld reads and keeps the provider's own result buffer.
	ReadHeld(ctx context.Context, key spi.Key) (spi.ReadResult, Recheck, error)
}

// Relocation is a target's Relocation Store; contexts and buffers are treated
// as for Location.
type Relocation interface {
	spi.RelocationStore
	// PutFill puts the bytes that fill describes, made on the target's side.
	PutFill(ctx context.Context, ref spi.Reference, fill Fill, retention spi.Retention) (spi.BlobPutResult, error)
	// ReadDigest reads and answers length and SHA-256 instead of the bytes.
	ReadDigest(ctx context.Context, ref spi.Reference) (DigestResult, error)
	// ReadHeld reads and keeps the provider's own result buffer.
	ReadHeld(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, Recheck, error)
}

// DigestResult is a BlobReadResult of which the bytes are digested; Found is
// false for Missing.
type DigestResult = protocol.Digest

// Fill describes bytes by a formula instead of carrying them.
type Fill = protocol.Fill

// ErrAbandoned is the cause with which the harness cancels a case's context.
var ErrAbandoned = errors.New("the case was given up")

// TroubleError says that the target itself failed: it died, kept silent or
// broke the protocol. It is never a verdict on the provider.
type TroubleError struct {
	What string   // one line: what happened and, if it helps, what to do
	Log  []string // the last lines that the target logged
	// Lost says what can't be judged any more: LostTarget, or the store that
	// keeps silent while the other one answers. It is "" for trouble that may
	// pass.
	Lost string

	Unanswered bool // the operation was given up while it awaited an answer
	SlowStart  bool // it kept silent too long after its start
}

// LostTarget is the TroubleError.Lost of a target that is not started any more.
const LostTarget = "target"

func (e *TroubleError) Error() string { return e.What }

// Troublef returns a TroubleError with a formatted message, which is cut where
// a target's own text makes it long.
func Troublef(format string, args ...any) *TroubleError {
	const most = 1000
	what := fmt.Sprintf(format, args...)
	if len(what) > most {
		what = strings.ToValidUTF8(what[:most], "") + "..."
	}
	return &TroubleError{What: what}
}

// Unsupported returns the error of an operation that a target does not offer.
func Unsupported(format string, args ...any) *spi.Error {
	return &spi.Error{Kind: spi.KindUnsupported, Message: fmt.Sprintf(format, args...)}
}

// InexpressibleError says that a request could not be put to the provider: the
// adapter protocol does not carry it, or the provider's language has no way to
// say it. That is nobody's fault.
type InexpressibleError struct{ what string }

func (e *InexpressibleError) Error() string { return e.what }

// Inexpressible returns an InexpressibleError with a formatted message.
func Inexpressible(format string, args ...any) *InexpressibleError {
	return &InexpressibleError{fmt.Sprintf(format, args...)}
}
