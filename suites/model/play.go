package model

import (
	"errors"
	"fmt"
	"strings"
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
	looked spi.Millis       // what it showed last
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
	stage      *stage
	provider   *harness.Provider
	store      harness.Store
	location   *harness.Location
	relocation *harness.Relocation
}

func (a *actor) locations() *harness.Location {
	if a.location == nil {
		a.location = a.provider.OpenLocation(a.store)
		a.stage.look()
	}
	return a.location
}

func (a *actor) relocations() *harness.Relocation {
	if a.relocation == nil {
		a.relocation = a.provider.OpenRelocation(a.store)
		a.stage.look()
	}
	return a.relocation
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
	target := &actor{stage: s, provider: s.t.Target(), store: harness.Store{Server: s.server, KeyPrefix: prefix}}
	other := &actor{stage: s, provider: s.t.Reference(), store: harness.Store{Server: s.server, KeyPrefix: prefix}}
	if m == lockstep {
		other.store.KeyPrefix += "-reference"
	}
	defer target.close()
	defer other.close()
	s.look()
	world, beside := newWorld(s.looked), newWorld(s.looked)
	for i, l := range script {
		if a, ok := l.step.(advanceStep); ok {
			s.advance(a.ms)
			continue
		}
		if m == lockstep {
			if err := beside.perform(other, line{step: l.step}); err != nil {
				s.t.Troublef("the reference does not agree with the model, so that the target can't be judged: %v, at the "+
					"last of these lines:\n%s",
					err, script[:i+1])
			}
		}
		by := target
		if m == shared && s.byReference(world, l) {
			by = other
		}
		var b *breach
		if errors.As(world.perform(by, l), &b) {
			return &failure{i, b}
		}
	}
	return nil
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

// look asks for the time of the server's clock.
func (s *stage) look() {
	if s.server == nil {
		s.looked = s.t.Now()
	} else {
		s.looked = s.t.NowOf(s.t.Client(s.server))
	}
}

func (s *stage) advance(ms int64) {
	s.clock += time.Duration(ms) * time.Millisecond
	if err := s.server.SetClock(s.t.Context(), s.clock); err != nil {
		s.t.Troublef("the server's clock could not be moved: %v", err)
	}
	s.look()
}

// timed performs an operation between two looks at the clock. The one after it
// is the one before the next.
func timed[R any](w *world, a *actor, operation func() (R, error)) (R, error) {
	r, err := operation()
	if err == nil {
		w.during.Before = a.stage.looked
		a.stage.look()
		w.during.After = a.stage.looked
	}
	return r, err
}

// perform has the actor do the step and judges the answer.
func (w *world) perform(a *actor, l line) error {
	ctx := a.stage.t.Context()
	switch s := l.step.(type) {
	case writeStep:
		store, r := a.locations(), w.request(s)
		res, err := timed(w, a, func() (spi.WriteResult, error) { return store.Write(ctx, r) })
		if refusal := refusalOf(s.retentions()...); err != nil || refusal == due {
			for _, m := range r.Mutations {
				w.refused[m.MutationKey()] = true
			}
			if len(s.retentions()) == 0 {
				return broken(mainOf(r), "the batch failed: %v", err)
			}
			return refused("L4.retention", mainOf(r), "the batch", refusal, err)
		}
		return w.wrote(r, res)
	case readStep:
		store := a.locations()
		res, err := timed(w, a, func() (spi.ReadResult, error) { return store.Read(ctx, s.key) })
		if err != nil {
			return broken("L2.observation", "the read failed: %v", err)
		}
		return blamed(w.refused, s.key, "L4.retention", w.saw(s.key, res))
	case scanStep:
		res, err := w.scan(a, spi.ScanRequest{Prefix: s.prefix, Limit: s.limit})
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
		store, payload := a.relocations(), s.value.bytes()
		res, err := timed(w, a, func() (spi.BlobPutResult, error) { return store.Put(ctx, s.ref, payload, s.retention) })
		if refusal := refusalOf(s.retention); err != nil || refusal == due {
			w.refusedBlobs[s.ref] = true
			return refused("R4.retention", "R4.put", "Put", refusal, err)
		}
		return blamed(w.refusedBlobs, s.ref, "R4.retention", w.stored(s.ref, payload, s.retention, res))
	case blobReadStep:
		store := a.relocations()
		res, err := timed(w, a, func() (spi.BlobReadResult, error) { return store.Read(ctx, s.ref) })
		if err != nil {
			return broken("R4.read", "Read failed: %v", err)
		}
		return blamed(w.refusedBlobs, s.ref, "R4.retention", w.sawBlob(s.ref, res))
	case blobRenewStep:
		store := a.relocations()
		res, err := timed(w, a, func() (spi.BlobRenewResult, error) { return store.Renew(ctx, s.ref, s.retention) })
		if refusal := refusalOf(s.retention); err != nil || refusal == due {
			w.refusedBlobs[s.ref] = true
			return refused("R4.retention", "R4.renew", "Renew", refusal, err)
		}
		return blamed(w.refusedBlobs, s.ref, "R4.retention", w.renewed(s.ref, s.retention, res))
	case blobDeleteStep:
		store := a.relocations()
		if _, err := timed(w, a, func() (any, error) { return nil, store.Delete(ctx, s.ref) }); err != nil {
			return broken("R4.delete", "Delete failed: %v", err)
		}
		w.removed(s.ref)
		return nil
	}
	panic(fmt.Sprintf("%T is no step", l.step))
}

// refused judges an operation that failed, or had to for its retention.
func refused(retention, other, what string, refusal refusal, err error) error {
	argument := spi.KindOf(err) == spi.KindArgument
	switch {
	case argument && refusal != wrong:
		return nil
	case argument:
		return broken(retention, "%s was refused: %v", what, err)
	case refusal == due:
		return broken(retention, "%s with a retention that is not positive was no argument error: %v", what, err)
	}
	return broken(other, "%s failed: %v", what, err)
}

// blamed is a breach that shows in what an argument error left behind, as one
// of the requirement that it may change nothing.
func blamed[N comparable](suspects map[N]bool, name N, requirement string, err error) error {
	var b *breach
	if suspects[name] && errors.As(err, &b) && !strings.HasSuffix(b.requirement, ".store-now") {
		return broken(requirement, "after an argument error for a retention: %s", b.what)
	}
	delete(suspects, name)
	return err
}

func (w *world) scan(a *actor, r spi.ScanRequest) (spi.ScanResult, error) {
	store := a.locations()
	return timed(w, a, func() (spi.ScanResult, error) { return store.ScanOfAnyAge(a.stage.t.Context(), r) })
}

// page asks for the next page of a scan that has one.
func (w *world) page(a *actor, name string, limit int) error {
	snap := w.snapshots[name]
	if snap.cursor == nil {
		return nil
	}
	res, err := w.scan(a, spi.ScanRequest{Prefix: snap.prefix, Cursor: snap.cursor, Limit: limit})
	if err != nil {
		return broken("L5.snapshot", "the next page failed: %v", err)
	}
	return w.turned(snap, limit, res)
}
