package resilience_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/resilience"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
)

// TestAllowed: providers that work in another way than the reference, and as
// well by the contract, pass every case.
func TestAllowed(t *testing.T) {
	for name, p := range map[string]targets.Provider{
		"reads are asked again": decorated(func(l *location) { l.read = again(l.LocationStore.Read) },
			func(r *relocation) { r.read = again(r.RelocationStore.Read) }),
		"a Put of a payload is sent again":        decorated(nil, putAgain),
		"writes look first":                       decorated(looksFirst, putLooksFirst),
		"connected on opening":                    connectsOnOpening(),
		"Close awaits operations":                 decorated(closeAwaits, nil),
		"tokens end nothing under way":            decorated(deafUnderWay, nil),
		"a wrong host clock that nobody looks at": hostClock(),
		"one operation at a time":                 decorated(inTurn, nil),
	} {
		t.Run(name, func(t *testing.T) {
			suitetest.Passes(t, redistest.Env(t), targets.InProcess(p), resilience.Cases())
		})
	}
}

// hostClock is the reference, which never asks the host for the time, as if
// its host's clock could be moved.
func hostClock() targets.Provider {
	p := refprovider.New()
	p.Info.Capabilities = append(slices.Clone(p.Info.Capabilities), targets.CapClock)
	p.Skewed = func(time.Duration) targets.Provider { return hostClock() }
	return p
}

// again repeats an operation that changes nothing.
func again[N, R any](do func(context.Context, N) (R, error)) func(context.Context, N) (R, error) {
	return func(ctx context.Context, name N) (R, error) {
		r, err := do(ctx, name)
		if spi.KindOf(err) == spi.KindStoreFailure {
			return do(ctx, name)
		}
		return r, err
	}
}

// putAgain: the second Put says AlreadyStored, which is true.
func putAgain(r *relocation) {
	r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
		res, err := r.RelocationStore.Put(ctx, ref, p, ms)
		if spi.KindOf(err) == spi.KindStoreFailure {
			return r.RelocationStore.Put(ctx, ref, p, ms)
		}
		return res, err
	}
}

// looksFirst reads each condition's key before a write that checks them all.
func looksFirst(l *location) {
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		ctx, cancel := context.WithTimeout(ctx, l.timeout)
		defer cancel()
		for _, c := range w.Conditions {
			if _, err := l.LocationStore.Read(ctx, c.ConditionKey()); err != nil {
				return nil, err
			}
		}
		return l.LocationStore.Write(ctx, w)
	}
}

func putLooksFirst(r *relocation) {
	r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		if _, err := r.RelocationStore.Read(ctx, ref); err != nil {
			return nil, err
		}
		return r.RelocationStore.Put(ctx, ref, p, ms)
	}
}

func connectsOnOpening() targets.Provider {
	whole := refprovider.New()
	p := whole
	p.OpenLocation = func(ctx context.Context, c targets.StoreConfig) (spi.LocationStore, error) {
		s, err := whole.OpenLocation(ctx, c)
		if err == nil {
			_, err = s.Read(ctx, "hello")
		}
		return s, err
	}
	p.OpenRelocation = func(ctx context.Context, c targets.StoreConfig) (spi.RelocationStore, error) {
		s, err := whole.OpenRelocation(ctx, c)
		if err == nil {
			_, err = s.Read(ctx, "hello")
		}
		return s, err
	}
	return p
}

func closeAwaits(l *location) {
	var busy sync.RWMutex
	l.read = func(ctx context.Context, k spi.Key) (spi.ReadResult, error) {
		busy.RLock()
		defer busy.RUnlock()
		return l.LocationStore.Read(ctx, k)
	}
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		busy.RLock()
		defer busy.RUnlock()
		return l.LocationStore.Write(ctx, w)
	}
	l.close = func() error {
		busy.Lock()
		defer busy.Unlock()
		return l.LocationStore.Close()
	}
}

func deafUnderWay(l *location) {
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		if ctx.Err() == nil {
			ctx = context.WithoutCancel(ctx)
		}
		return l.LocationStore.Write(ctx, w)
	}
}

// inTurn lets an operation wait for its turn as long as its timeout.
func inTurn(l *location) {
	turn := make(chan struct{}, 1)
	await := func(ctx context.Context) error {
		select {
		case turn <- struct{}{}:
			return nil
		case <-time.After(l.timeout):
			return &spi.Error{Kind: spi.KindTimeout, Message: "others are at work"}
		case <-ctx.Done():
			return &spi.Error{Kind: spi.KindCancelled, Message: "cancelled"}
		}
	}
	l.read = func(ctx context.Context, k spi.Key) (spi.ReadResult, error) {
		if err := await(ctx); err != nil {
			return nil, err
		}
		defer func() { <-turn }()
		return l.LocationStore.Read(ctx, k)
	}
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		if err := await(ctx); err != nil {
			return nil, err
		}
		defer func() { <-turn }()
		return l.LocationStore.Write(ctx, w)
	}
}
