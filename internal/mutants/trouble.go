package mutants

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// do runs an operation or not, and answers its error.
type do = func(ctx context.Context, operation func(context.Context) error) error

// troubleMutants fail in the company of other operations: earlier ones, those
// beside them, or what was written since.
func troubleMutants() []Mutant {
	return slices.Concat(
		ofBoth("trouble/first-answer-kept", "L6.recover", "R5.recover",
			"An error that Redis answers to the first operation is kept and answered for ever.",
			func() targets.Provider { return around(refprovider.New(), firstAnswerKept) }),
		ofBoth("trouble/one-at-a-time", "L6.timeout", "R5.timeout",
			"An operation awaits the end of all others before its timeout begins.",
			func() targets.Provider { return around(refprovider.New(), oneAtATime) }),
		ofBoth("trouble/place-lost-by-timeout", "L6.recover", "R5.recover",
			"Each operation that times out takes one of 16 places with it.",
			func() targets.Provider { return losesPlaces(spi.KindTimeout) }),
		ofBoth("trouble/place-lost-by-cancellation", "L6.recover", "R5.recover",
			"Each operation that is cancelled takes one of 16 places with it.",
			func() targets.Provider { return losesPlaces(spi.KindCancelled) }),
		ofBoth("trouble/looks-in-its-own-time", "L6.timeout", "R5.timeout",
			"Each operation first looks something up, which has a timeout of its own.",
			looksFirstOrFails),
		ofBoth("trouble/set-up-not-counted", "L6.timeout", "R5.timeout", "Setting a connection up has a timeout of its own.",
			func() targets.Provider { return inWindows(false) }),
		ofBoth("trouble/script-not-counted", "L6.timeout", "R5.timeout",
			"Sending a script that Redis does not know has a timeout of its own.",
			func() targets.Provider { return inWindows(true) }),
		ofBoth("trouble/timeout-of-the-other", "L6.timeout", "R5.timeout",
			"A store that shares a connection has the operation timeout of the other one.", timeoutOfTheOther),
		ofBoth("trouble/pool-in-its-own-time", "L6.timeout", "R5.timeout",
			"Waiting for a place on a shared connection has no timeout.", patientPool),
		ofBoth("trouble/close-ends-others", "L7.dispose", "R7.shared",
			"Closing one of two stores on a connection ends the other's operations under way.", closeEndsOthers),
		ofBoth("trouble/database-once", "L6.recover", "R5.recover", "The database is selected on the first connection alone.",
			func() targets.Provider { return setUpOnce(databaseZero) }),
		ofBoth("trouble/password-once", "L6.recover", "R5.recover", "The password is sent on the first connection alone.",
			func() targets.Provider { return setUpOnce(noPassword) }),
		ofBoth("trouble/tls-once", "L6.recover", "R5.recover", "TLS is spoken on the first connection alone.", tlsOnce),
		[]Mutant{
			onLocation("trouble/scan-goes-on-cancelled", "L6.cancel-before",
				"A scan that goes on starts under a cancelled token.", func(l *location) {
					l.scan = func(ctx context.Context, r spi.ScanRequest) (spi.ScanResult, error) {
						if r.Cursor != nil {
							ctx = context.WithoutCancel(ctx)
						}
						return l.LocationStore.Scan(ctx, r)
					}
				}),
		},
		keptByOperation(), retriedMutants(), replayedMutants(), guessedMutants(),
		[]Mutant{onRelocation("trouble/expiry-after-payload", "R6.orphan",
			"A payload of 64 KiB and more gets its expiry by a second command.", expiryAfterPayload)},
	)
}

// ofBoth are two mutants, of one provider that breaks a requirement of each store.
func ofBoth(id, location, relocation, title string, provider func() targets.Provider) []Mutant {
	return []Mutant{
		provided(id+"-location", location, title, provider),
		provided(id+"-relocation", relocation, title, provider),
	}
}

// firstAnswerKept keeps what Redis answered to the first operation, unless one
// has succeeded.
func firstAnswerKept() do {
	var mu sync.Mutex
	var kept error
	works := false
	return func(ctx context.Context, operation func(context.Context) error) error {
		mu.Lock()
		first := kept
		mu.Unlock()
		if first != nil {
			return first
		}
		err := operation(ctx)
		mu.Lock()
		defer mu.Unlock()
		works = works || err == nil
		if !works && answered(err) {
			kept = err
		}
		return err
	}
}

// keptByOperation keep the first error that Redis answers to one operation.
func keptByOperation() []Mutant {
	return []Mutant{
		onLocation("trouble/write-answer-kept", "L6.recover",
			"An error that Redis answers to the first write is kept and answered to each later one.", func(l *location) {
				whole := *l
				l.through(firstAnswerKept())
				l.read, l.scan = whole.read, whole.scan
			}),
		onRelocation("trouble/put-answer-kept", "R5.recover",
			"An error that Redis answers to the first Put is kept and answered to each later one.", func(r *relocation) {
				whole := *r
				r.through(firstAnswerKept())
				r.read, r.renew, r.delete = whole.read, whole.renew, whole.delete
			}),
	}
}

func oneAtATime() do {
	var turn sync.Mutex
	return func(ctx context.Context, operation func(context.Context) error) error {
		turn.Lock()
		defer turn.Unlock()
		return operation(ctx)
	}
}

// losesPlaces has 16 places for operations, and gets one back unless an
// operation ended in that way.
func losesPlaces(by spi.ErrorKind) targets.Provider {
	return around(refprovider.New(), func() do {
		places := make(chan struct{}, 16)
		return func(ctx context.Context, operation func(context.Context) error) error {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return operation(ctx)
			case <-time.After(time.Second):
				return &spi.Error{Kind: spi.KindTimeout, Message: "no place came free"}
			}
			err := operation(ctx)
			if spi.KindOf(err) != by {
				<-places
			}
			return err
		}
	})
}

// looksFirstOrFails reads an absent name before each operation.
func looksFirstOrFails() targets.Provider {
	return hooked(refprovider.New(), func(l *location) {
		l.through(func(ctx context.Context, operation func(context.Context) error) error {
			if _, err := l.LocationStore.Read(ctx, "looked up"); err != nil {
				return err
			}
			return operation(ctx)
		})
	}, func(r *relocation) {
		r.through(func(ctx context.Context, operation func(context.Context) error) error {
			if _, err := r.RelocationStore.Read(ctx, "looked up"); err != nil {
				return err
			}
			return operation(ctx)
		})
	})
}

// timeoutOfTheOther opens a store that shares a connection with the timeout of
// the one that opened it.
func timeoutOfTheOther() targets.Provider {
	p := hooked(refprovider.New(), nil, nil)
	return inheriting(p, func(c, other targets.StoreConfig) targets.StoreConfig {
		c.OperationTimeout = other.OperationTimeout
		return c
	})
}

// inheriting changes the configuration of stores that share a connection by
// that of the store which they share it with.
func inheriting(p targets.Provider, change func(c, other targets.StoreConfig) targets.StoreConfig) targets.Provider {
	changed := func(c targets.StoreConfig) targets.StoreConfig {
		switch s := c.Share.(type) {
		case *location:
			return change(c, s.config)
		case *relocation:
			return change(c, s.config)
		}
		return c
	}
	openLocation, openRelocation := p.OpenLocation, p.OpenRelocation
	p.OpenLocation = func(ctx context.Context, c targets.StoreConfig) (spi.LocationStore, error) {
		return openLocation(ctx, changed(c))
	}
	p.OpenRelocation = func(ctx context.Context, c targets.StoreConfig) (spi.RelocationStore, error) {
		return openRelocation(ctx, changed(c))
	}
	return p
}

// connectionMates are what stores on one connection have in common, by store.
type connectionMates[M any] struct {
	mu   sync.Mutex
	mate map[targets.Store]*M
}

// of returns what the new store has in common with the one that it shares a
// connection with.
func (c *connectionMates[M]) of(store, shared targets.Store) *M {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mate == nil {
		c.mate = map[targets.Store]*M{}
	}
	m := c.mate[shared]
	if shared == nil || m == nil {
		m = new(M)
	}
	c.mate[store] = m
	return m
}

// patientPool has 64 places on each connection, for which an operation waits as
// long as it takes.
func patientPool() targets.Provider {
	type pool struct {
		once   sync.Once
		places chan struct{}
	}
	var pools connectionMates[pool]
	waits := func(p *pool) do {
		p.once.Do(func() { p.places = make(chan struct{}, 64) })
		return func(ctx context.Context, operation func(context.Context) error) error {
			p.places <- struct{}{}
			defer func() { <-p.places }()
			return operation(ctx)
		}
	}
	return hooked(refprovider.New(),
		func(l *location) { l.through(waits(pools.of(l, l.config.Share))) },
		func(r *relocation) { r.through(waits(pools.of(r, r.config.Share))) })
}

// closeEndsOthers ends what runs on a connection when one of its stores is closed.
func closeEndsOthers() targets.Provider {
	type running struct {
		mu     sync.Mutex
		cancel map[*context.CancelFunc]bool
	}
	var connections connectionMates[running]
	noted := func(c *running) do {
		return func(ctx context.Context, operation func(context.Context) error) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			c.mu.Lock()
			if c.cancel == nil {
				c.cancel = map[*context.CancelFunc]bool{}
			}
			c.cancel[&cancel] = true
			c.mu.Unlock()
			defer func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.cancel, &cancel)
			}()
			return operation(ctx)
		}
	}
	closing := func(c *running, close func() error) func() error {
		return func() error {
			c.mu.Lock()
			defer c.mu.Unlock()
			for cancel := range c.cancel {
				(*cancel)()
			}
			return close()
		}
	}
	return hooked(refprovider.New(), func(l *location) {
		c := connections.of(l, l.config.Share)
		l.through(noted(c))
		l.close = closing(c, l.LocationStore.Close)
	}, func(r *relocation) {
		c := connections.of(r, r.config.Share)
		r.through(noted(c))
		r.close = closing(c, r.RelocationStore.Close)
	})
}
