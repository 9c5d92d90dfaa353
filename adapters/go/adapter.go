// Package adapter serves a storage provider written in Go through the adapter
// protocol (docs/adapter-protocol.md), so that zlink-conformance can judge it:
//
//	func main() {
//		err := adapter.Serve(context.Background(), adapter.Provider{...}, os.Stdin, os.Stdout)
//		...
//	}
//
// Print nothing to stdout: it carries the protocol. stderr is the target's log.
package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Provider is the provider to serve. A nil function is an operation that it
// does not offer.
type Provider = targets.Provider

// Info is what the provider says of itself. Protocol is set by Serve.
type Info = targets.Info

// Config says how to open a store.
type Config = targets.StoreConfig

// ConnInfo says where a store's Redis is and how to log in.
type ConnInfo = targets.ConnInfo

// Stores that a provider may offer, for Info.Stores.
const (
	StoreLocation   = targets.StoreLocation
	StoreRelocation = targets.StoreRelocation
)

// Layouts that a provider may announce, for Info.Layout.
const (
	LayoutOfficial = targets.LayoutOfficial // the official Redis layout (L9, R8)
	LayoutNone     = targets.LayoutNone     // the two interfaces alone
)

// Capabilities that a provider may announce, for Info.Capabilities. What is
// announced is judged, what is not is skipped.
const (
	CapCancellation     = targets.CapCancellation     // an operation's context can be cancelled
	CapValueCondition   = targets.CapValueCondition   // it knows spi.ValueCondition
	CapSharedConnection = targets.CapSharedConnection // two stores can share a connection
	CapSurface          = targets.CapSurface          // it lists its public declarations
	CapUnixSocket       = targets.CapUnixSocket       // it connects over a unix socket
	CapTLS              = targets.CapTLS              // it connects over TLS
	CapClock            = targets.CapClock            // its runtime obeys a faked host clock
)

// Unsupported returns the error of an operation that a provider does not offer.
func Unsupported(format string, args ...any) *spi.Error { return targets.Unsupported(format, args...) }

// Serve answers requests from in on out until in ends; then it cancels what
// still runs, closes the stores and returns nil. It returns early with an error
// if reading or writing fails or ctx ends before a request.
func Serve(ctx context.Context, p Provider, in io.Reader, out io.Writer) error {
	p.Info.Protocol = protocol.Version
	ctx, cancel := context.WithCancel(ctx)
	ctx = targets.CaseContext(ctx) // so that even an operation that ignores its token is given up at the end
	s := &server{provider: p, out: out, running: map[int64]context.CancelFunc{}, held: map[int64]heldResult{},
		stores: map[int64]any{}}
	err := s.serve(ctx, in)
	cancel()
	s.work.Wait()
	s.closeAll()
	return errors.Join(err, s.writeErr)
}

type server struct {
	provider Provider
	work     sync.WaitGroup

	writing  sync.Mutex
	out      io.Writer
	writeErr error

	mu      sync.Mutex
	running map[int64]context.CancelFunc // by request
	held    map[int64]heldResult         // by request
	stores  map[int64]any                // targets.Location or targets.Relocation by handle, closed ones too
}

type heldResult struct {
	handle  int64
	recheck targets.Recheck
}

func (s *server) serve(ctx context.Context, in io.Reader) error {
	lines := protocol.NewLines(in, protocol.MaxLineBytes)
	for {
		line, length, err := lines.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("reading a request: %w", err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case length > protocol.MaxLineBytes:
			return fmt.Errorf("a request of %d bytes is over the limit of %d", length, protocol.MaxLineBytes)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		var r protocol.Request
		if err := json.Unmarshal(line, &r); err != nil {
			// The id, if there is one, lets the harness name the operation.
			var head struct {
				ID int64 `json:"id"`
			}
			_ = json.Unmarshal(line, &head)
			s.answer(head.ID, nil, internal(fmt.Errorf("the request is not understood: %w", err)))
			continue
		}
		s.start(ctx, r)
	}
}

// start runs the request in its own goroutine. Its cancel function is known
// before the next request, which may cancel it.
func (s *server) start(ctx context.Context, r protocol.Request) {
	ctx, cancel := context.WithCancel(ctx)
	if r.Cancelled {
		cancel()
	}
	s.mu.Lock()
	s.running[r.ID] = cancel
	s.mu.Unlock()
	s.work.Go(func() {
		result, err := s.handle(ctx, &r)
		s.mu.Lock()
		delete(s.running, r.ID)
		s.mu.Unlock()
		cancel()
		s.answer(r.ID, result, err)
	})
}

func (s *server) answer(id int64, result *protocol.Result, err error) {
	a := protocol.Answer{ID: &id, Result: result}
	if err != nil {
		a.Result, a.Error = nil, wireError(err)
	}
	line, err := json.Marshal(a)
	if err != nil {
		line, _ = json.Marshal(protocol.Answer{ID: &id, Error: wireError(internal(err))})
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.writeErr == nil {
		_, s.writeErr = s.out.Write(append(line, '\n'))
	}
}

func wireError(err error) *protocol.Error {
	var e *spi.Error
	if !errors.As(err, &e) {
		e = &spi.Error{Kind: spi.KindStoreFailure, Type: fmt.Sprintf("%T", err), Message: err.Error()}
	}
	return &protocol.Error{Kind: string(e.Kind), Type: e.Type, Message: e.Message}
}

func internal(err error) error {
	return &spi.Error{Kind: spi.KindInternal, Message: err.Error(), Err: err}
}

func (s *server) closeAll() {
	for _, store := range s.stores {
		_ = store.(targets.Store).Close()
	}
}
