package targets

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/spi"
)

type caseKey struct{}

// CaseContext marks ctx as the context of a whole case: once it is cancelled,
// operations whose own contexts are derived from it are given up at once, also
// those whose own context was cancelled before as a token.
func CaseContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, caseKey{}, ctx)
}

// UntilGivenUp returns the context that ends when operations on ctx are to be
// given up: that of the case, or one without an end.
func UntilGivenUp(ctx context.Context) context.Context {
	if c, ok := ctx.Value(caseKey{}).(context.Context); ok {
		return c
	}
	return context.WithoutCancel(ctx)
}

// GivenUp reports whether operations on ctx are to be given up.
func GivenUp(ctx context.Context) bool { return UntilGivenUp(ctx).Err() != nil }

// Abandoned is the trouble of an operation that was given up.
func Abandoned(ctx context.Context, operation string, started time.Time) *TroubleError {
	return Troublef("%s was given up unanswered after %s: %v", operation,
		time.Since(started).Round(time.Millisecond), whyGivenUp(context.Cause(UntilGivenUp(ctx))))
}

// BoundClose is the context in which a target closes a store.
func BoundClose() (context.Context, context.CancelFunc) {
	const most = 10 * time.Second
	ctx, cancel := context.WithTimeoutCause(context.Background(), most, ErrAbandoned)
	return CaseContext(ctx), cancel
}

// whyGivenUp is the cause without the words that say again that it was given up.
func whyGivenUp(cause error) string {
	text := cause.Error()
	for {
		rest, more := strings.CutPrefix(text, ErrAbandoned.Error()+": ")
		if !more {
			return text
		}
		text = rest
	}
}

// await runs an operation of a provider in this process. It classifies the
// error (L6.failure-class), turns a panic into one, and returns at once with a
// TroubleError when the operation is given up; the operation itself then ends
// on its own.
func await[R any](ctx context.Context, operation string, run func(context.Context) (R, error)) (R, error) {
	type outcome struct {
		result R
		err    error
	}
	var none R
	started := time.Now()
	until := UntilGivenUp(ctx)
	if until.Err() != nil {
		return none, Abandoned(ctx, operation, started)
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.err = &spi.Error{Kind: spi.KindInternal, Type: "panic", Message: fmt.Sprintf("%v\n%s", p, debug.Stack())}
			}
			done <- o
		}()
		o.result, o.err = run(ctx)
		o.err = classified(o.err)
	}()
	select {
	case o := <-done:
		if o.err != nil && GivenUp(ctx) {
			return none, Abandoned(ctx, operation, started)
		}
		return o.result, o.err
	case <-until.Done():
		return none, Abandoned(ctx, operation, started)
	}
}

// classified returns err as an *spi.Error: as what it says it is, or else as a
// store failure.
func classified(err error) error {
	if err == nil || spi.KindOf(err) != "" {
		return err
	}
	return &spi.Error{Kind: spi.KindStoreFailure, Type: fmt.Sprintf("%T", err), Message: err.Error(), Err: err}
}
