package model

import (
	"errors"
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// stage plays scripts for a case, each on fresh key prefixes.
type stage struct {
	t      *harness.T
	server *redisenv.Server // nil: the main server
	clock  time.Duration    // by which the server's clock was moved on
	played int
}

// mode says who plays a script.
type mode int

const (
	alone    mode = iota // the target
	lockstep             // the target, and the reference beside it on a prefix of its own
	shared               // both on one prefix, each performing its lines
)

// failure is a breach and the line that showed it.
type failure struct {
	at int // index of the line
	*breach
}

// maxPages ends a scan that does not end by itself.
const maxPages = 2000

// actor is one provider's stores on one prefix, opened when first needed.
type actor struct {
	t          *harness.T
	provider   *harness.Provider
	store      harness.Store
	location   *harness.Location
	relocation *harness.Relocation
}

func (a *actor) locations() *harness.Location {
	if a.location == nil {
		a.location = a.provider.OpenLocation(a.store)
	}
	return a.location
}

func (a *actor) relocations() *harness.Relocation {
	if a.relocation == nil {
		a.relocation = a.provider.OpenRelocation(a.store)
	}
	return a.relocation
}

// bracket performs an operation between two readings of the store's clock.
func (a *actor) bracket(operation func()) harness.Bracket {
	if a.store.Server == nil {
		return a.t.Bracket(operation)
	}
	return a.t.BracketOn(a.t.Client(a.store.Server), operation)
}

// close closes what was opened: the next script opens its own.
func (a *actor) close() {
	if a.location != nil {
		a.location.Close()
	}
	if a.relocation != nil {
		a.relocation.Close()
	}
}

// play performs the script and returns the first breach, nil if there is none.
func (s *stage) play(script Script, m mode) *failure {
	s.played++
	prefix := s.t.NewKeyPrefix(fmt.Sprint(s.played))
	target := &actor{t: s.t, provider: s.t.Target(), store: harness.Store{Server: s.server, KeyPrefix: prefix}}
	other := &actor{t: s.t, provider: s.t.Reference(), store: harness.Store{Server: s.server, KeyPrefix: prefix}}
	if m == lockstep {
		other.store.KeyPrefix += "-reference"
	}
	defer target.close()
	defer other.close()
	world, beside := newWorld(s.now()), newWorld(s.now())
	for i, l := range script {
		if a, ok := l.step.(advanceStep); ok {
			if err := s.elapsed(world); err != nil {
				return failed(max(0, i-1), err)
			}
			s.advance(a.ms, world, beside)
			continue
		}
		if m == lockstep {
			if err := beside.perform(other, line{step: l.step}); err != nil {
				s.t.Troublef("the reference does not agree with the model, so that the target can't be judged: %v, at the last of these lines:\n%s",
					err, script[:i+1])
			}
		}
		by := target
		if m == shared && s.byReference(world, l) {
			by = other
		}
		if err := world.perform(by, l); err != nil {
			return failed(i, err)
		}
	}
	if err := s.elapsed(world); err != nil {
		return failed(len(script)-1, err)
	}
	return nil
}

func failed(at int, err error) *failure {
	b := &breach{}
	errors.As(err, &b)
	return &failure{at, b}
}

// byReference says who performs the line: pages come from whoever opened the
// scan.
func (s *stage) byReference(w *world, l line) bool {
	switch st := l.step.(type) {
	case nextStep:
		return w.snapshots[st.name].byReference
	case restStep:
		return w.snapshots[st.name].byReference
	}
	return l.byReference
}

func (s *stage) now() spi.Millis {
	if s.server == nil {
		return s.t.Now()
	}
	return s.t.NowOf(s.t.Client(s.server))
}

// elapsed checks that no store time was in the future.
func (s *stage) elapsed(w *world) error {
	if now := s.now(); w.now > now+slack {
		return broken("L3.store-now", "a store time was %d, but the store's clock shows %d only now", w.now, now)
	}
	return nil
}

func (s *stage) advance(ms int64, worlds ...*world) {
	s.clock += time.Duration(ms) * time.Millisecond
	if err := s.server.SetClock(s.t.Context(), s.clock); err != nil {
		s.t.Troublef("the server's clock could not be moved: %v", err)
	}
	now := s.now()
	for _, w := range worlds {
		w.now = now
		for _, snap := range w.snapshots {
			snap.age += ms
		}
	}
}

// perform has the actor do the step and judges the answer.
func (w *world) perform(a *actor, l line) error {
	ctx := a.t.Context()
	switch s := l.step.(type) {
	case writeStep:
		r := w.request(s)
		res, err := a.locations().Write(ctx, r)
		if err != nil {
			return broken(mainOf(r), "the batch failed: %v", err)
		}
		return w.wrote(r, res)
	case readStep:
		res, err := a.locations().Read(ctx, s.key)
		if err != nil {
			return broken("L2.observation", "the read failed: %v", err)
		}
		return w.saw(s.key, res)
	case scanStep:
		res, err := a.locations().Scan(ctx, spi.ScanRequest{Prefix: s.prefix, Limit: s.limit})
		if err != nil {
			return broken("L5.complete", "the scan failed: %v", err)
		}
		return w.opened(s, l.byReference, res)
	case nextStep:
		return w.page(a, s.name, s.limit)
	case restStep:
		for range maxPages {
			if err := w.page(a, s.name, s.limit); err != nil || w.snapshots[s.name].cursor == nil {
				return err
			}
		}
		return broken("L5.limit", "the scan did not end within %d pages", maxPages)
	case blobPutStep:
		payload := s.value.bytes()
		var res spi.BlobPutResult
		var err error
		during := a.bracket(func() { res, err = a.relocations().Put(ctx, s.ref, payload, s.retention) })
		if err != nil {
			return broken("R4.put", "Put failed: %v", err)
		}
		return w.stored(s.ref, payload, s.retention, res, during)
	case blobReadStep:
		var res spi.BlobReadResult
		var err error
		during := a.bracket(func() { res, err = a.relocations().Read(ctx, s.ref) })
		if err != nil {
			return broken("R4.read", "Read failed: %v", err)
		}
		return w.sawBlob(s.ref, res, during)
	case blobRenewStep:
		var res spi.BlobRenewResult
		var err error
		during := a.bracket(func() { res, err = a.relocations().Renew(ctx, s.ref, s.retention) })
		if err != nil {
			return broken("R4.renew", "Renew failed: %v", err)
		}
		return w.renewed(s.ref, s.retention, res, during)
	case blobDeleteStep:
		if err := a.relocations().Delete(ctx, s.ref); err != nil {
			return broken("R4.delete", "Delete failed: %v", err)
		}
		w.removed(s.ref)
		return nil
	}
	panic(fmt.Sprintf("%T is no step", l.step))
}

// page asks for the next page of a scan that has one.
func (w *world) page(a *actor, name string, limit int) error {
	snap := w.snapshots[name]
	if snap.cursor == nil {
		return nil
	}
	res, err := a.locations().Scan(a.t.Context(), spi.ScanRequest{Prefix: snap.prefix, Cursor: snap.cursor, Limit: limit})
	if err != nil {
		return broken("L5.snapshot", "the next page failed: %v", err)
	}
	return w.turned(snap, limit, res)
}
