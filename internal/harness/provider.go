package harness

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Provider opens stores of the target or of the reference for a case. Every
// store is closed with the case.
type Provider struct {
	t           *T
	name        string // "target" or "reference", as the evidence shows it
	target      targets.Target
	isReference bool

	mu         sync.Mutex
	location   *Location
	relocation *Relocation
}

// Store says how a case opens a store; the zero value is the case's prefix on
// the main server.
type Store struct {
	Server    *redisenv.Server   // nil: the main server
	Proxy     *redisenv.Proxy    // through this fault proxy
	Conn      *redisenv.ConnInfo // exactly so, whatever Server and Proxy say
	KeyPrefix string             // "": the case's prefix
	Timeout   time.Duration      // operation timeout; 0: ordinaryTimeout
	Share     targets.Store      // share this store's physical connection
}

// ordinaryTimeout is the operation timeout of stores whose timeout is not the
// subject of the case. A provider's default of a few seconds can pass on a
// machine that is busy with something else, and that would be no fault of the
// provider.
const ordinaryTimeout = 30 * time.Second

// Info is what the provider says of itself.
func (p *Provider) Info() targets.Info { return p.target.Info() }

// Location is the provider's Location Store on the case's prefix, opened once.
func (p *Provider) Location() *Location {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.location == nil {
		p.location = p.OpenLocation(Store{})
	}
	return p.location
}

// Relocation is the provider's Relocation Store on the case's prefix, opened
// once.
func (p *Provider) Relocation() *Relocation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.relocation == nil {
		p.relocation = p.OpenRelocation(Store{})
	}
	return p.relocation
}

// OpenLocation opens a new Location Store instance; failing to is a failure of
// the case.
func (p *Provider) OpenLocation(s Store) *Location {
	l, err := p.TryOpenLocation(s)
	if err != nil {
		p.unopened("Location Store", err)
	}
	return l
}

// TryOpenLocation is OpenLocation for a case that expects an error.
func (p *Provider) TryOpenLocation(s Store) (*Location, error) {
	inner, err := p.target.OpenLocation(p.t.ctx, p.config(s))
	p.t.op(p.name + ": open location" + answer(nil, err))
	if err != nil {
		p.t.trouble(err)
		return nil, err
	}
	p.t.Cleanup(func() { inner.Close() })
	return &Location{t: p.t, provider: p, inner: inner}, nil
}

// OpenRelocation opens a new Relocation Store instance; failing to is a
// failure of the case.
func (p *Provider) OpenRelocation(s Store) *Relocation {
	r, err := p.TryOpenRelocation(s)
	if err != nil {
		p.unopened("Relocation Store", err)
	}
	return r
}

// TryOpenRelocation is OpenRelocation for a case that expects an error.
func (p *Provider) TryOpenRelocation(s Store) (*Relocation, error) {
	inner, err := p.target.OpenRelocation(p.t.ctx, p.config(s))
	p.t.op(p.name + ": open relocation" + answer(nil, err))
	if err != nil {
		p.t.trouble(err)
		return nil, err
	}
	p.t.Cleanup(func() { inner.Close() })
	return &Relocation{t: p.t, provider: p, inner: inner}, nil
}

// Surface lists the provider's public declarations (targets.CapSurface).
func (p *Provider) Surface() []string {
	names, err := p.target.Surface(p.t.ctx)
	if err != nil {
		p.t.trouble(err)
		p.fatal(p.t.Closest(), "listing the public declarations", err)
	}
	return names
}

func (p *Provider) config(s Store) targets.StoreConfig {
	c := targets.StoreConfig{KeyPrefix: s.KeyPrefix, OperationTimeout: s.Timeout}
	if c.OperationTimeout == 0 {
		c.OperationTimeout = ordinaryTimeout
	}
	if c.KeyPrefix == "" {
		c.KeyPrefix = p.t.prefix
	}
	switch {
	case s.Conn != nil:
		c.Redis = *s.Conn
	case s.Proxy != nil:
		c.Redis = s.Proxy.ConnInfo()
	case s.Server != nil:
		c.Redis = s.Server.ConnInfo()
	default:
		c.Redis = p.t.MainServer().ConnInfo()
	}
	switch shared := s.Share.(type) {
	case *Location:
		c.Share = shared.inner
	case *Relocation:
		c.Share = shared.inner
	case nil:
	default:
		c.Share = shared
	}
	return c
}

// Fatalf ends a case in which an operation of the provider failed with err or,
// if that is nil, answered what it may not. The target is judged by it. So it is
// by what the reference alone cannot get wrong, where the two work on one
// layout: what the reference finds there, the target has left. The slowness of
// the reference is trouble, and so is whatever it does in other cases.
func (p *Provider) Fatalf(requirement string, err error, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if err != nil {
		what += fmt.Sprintf(": %v", err)
	}
	if p.isReference && (spi.KindOf(err) == spi.KindTimeout || !slices.Contains(p.t.definition.Needs, NeedLayout)) {
		p.t.Troublef("%s", what)
	}
	p.t.Fatalf(requirement, "%s", what)
}

// besides are the requirements that a failing step may cite: what the reference
// does not understand beside the target breaks, above all, what they share.
func (p *Provider) besides(shared, candidates []string) []string {
	if p.isReference {
		return append(slices.Clone(shared), candidates...)
	}
	return candidates
}

// fatal ends a case in which a step that must succeed failed.
func (p *Provider) fatal(requirement, what string, err error) {
	if p.isReference {
		p.Fatalf(requirement, err, "the reference failed at %s", what)
	}
	p.Fatalf(requirement, err, "%s failed", what)
}

// unexpected ends a case in which an operation answered a result that it must
// not answer here.
func (p *Provider) unexpected(requirement, what, want string, got any) {
	if p.isReference {
		p.Fatalf(requirement, nil, "the reference answered %s to %s, expected %s", Describe(got), what, want)
	}
	p.Fatalf(requirement, nil, "%s answered %s, expected %s", what, Describe(got), want)
}

// unopened ends a case for which a store did not open. Nothing in Redis is
// looked at by then, so that the reference's failure is never the target's.
func (p *Provider) unopened(what string, err error) {
	if p.isReference {
		p.t.Troublef("opening a %s of the reference failed: %v", what, err)
	}
	p.fatal(p.t.Closest(), "opening a "+what, err)
}

func asTrouble(err error) (*targets.TroubleError, bool) {
	var te *targets.TroubleError
	return te, errors.As(err, &te)
}

func unavailable(err error) (string, bool) {
	var u *redisenv.Unavailable
	if errors.As(err, &u) {
		return u.Reason, true
	}
	return "", false
}
