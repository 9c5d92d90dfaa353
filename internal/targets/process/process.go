// Package process is a provider under test in an adapter process, which speaks
// the adapter protocol over stdio (docs/adapter-protocol.md).
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
)

const (
	defaultStartTimeout = 30 * time.Second // generous, for runtimes that warm up
	// A runtime may ask for the time very often while it starts, so that
	// libfaketime makes it many times slower.
	defaultSkewedStartTimeout = 2 * time.Minute
	defaultGrace              = 2 * time.Second
	maxRestarts               = 5
)

// Options says how to treat an adapter process.
type Options struct {
	StartTimeout time.Duration // for the first answer; 0: 30 s

	SkewedStartTimeout time.Duration // the same under another host clock; 0: 2 min

	env   []string      // added to the child's environment
	grace time.Duration // between the steps that end a process
	trace io.Writer     // gets every line of the protocol, credentials included
}

func (o Options) traceLine(direction string, line []byte) {
	if o.trace != nil {
		_, _ = fmt.Fprintf(o.trace, "%s%s\n", direction, bytes.TrimSuffix(line, []byte("\n")))
	}
}

// Start runs the command as an adapter process and awaits its hello. The
// errors are TroubleErrors. A process that ends in mid-run is started again by
// the next Open, at most 5 times.
func Start(ctx context.Context, command []string, options Options) (targets.Target, error) {
	if len(command) == 0 || command[0] == "" {
		return nil, errors.New("the target's command is empty")
	}
	if options.StartTimeout == 0 {
		options.StartTimeout = defaultStartTimeout
	}
	if options.SkewedStartTimeout == 0 {
		options.SkewedStartTimeout = defaultSkewedStartTimeout
	}
	if options.grace == 0 {
		options.grace = defaultGrace
	}
	p := &target{command: command, options: options, log: &log{}, silence: newSilence(), turn: make(chan struct{}, 1)}
	p.closing, p.close = context.WithCancel(context.Background())
	c, info, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	p.current, p.info = c, info
	return p, nil
}

// Another starts the command once more.
func (p *target) Another(ctx context.Context) (targets.Target, error) {
	return Start(ctx, p.command, p.options)
}

// Skewed starts the command once more, with a host clock of its own. If it is
// too slow to start so, the clock is unavailable.
func (p *target) Skewed(ctx context.Context, offset time.Duration) (targets.Target, error) {
	dir, err := os.MkdirTemp("", "zlink-conformance-clock-")
	if err != nil {
		return nil, targets.Troublef("cannot make a folder for the target's clock: %v", err)
	}
	forget := atExit.add(func() { os.RemoveAll(dir) })
	options := p.options
	options.StartTimeout = options.SkewedStartTimeout
	options.env, err = redisenv.HostClock(dir, offset)
	var t targets.Target
	if err == nil {
		t, err = Start(ctx, p.command, options)
	}
	remove := func() {
		os.RemoveAll(dir)
		forget()
	}
	if err != nil {
		remove()
		if trouble := (*targets.TroubleError)(nil); errors.As(err, &trouble) && trouble.SlowStart {
			return nil, &redisenv.Unavailable{
				Reason: fmt.Sprintf("the target did not say hello within %s under libfaketime", options.StartTimeout)}
		}
		return nil, err
	}
	t.(*target).removeDir, t.(*target).silence.spare = remove, true
	return t, nil
}

// target is a Target in an adapter process.
type target struct {
	command []string
	options Options
	log     *log
	info    targets.Info
	handles atomic.Int64
	silence *silence

	closing   context.Context
	close     context.CancelFunc
	closeOnce sync.Once
	removeDir func() // called by Close, if not nil

	turn     chan struct{} // held by whoever uses the fields below
	current  *child
	restarts int
}

var errSlowStart = errors.New("the start took too long")

// start starts a child and awaits its hello.
func (p *target) start(ctx context.Context) (*child, targets.Info, error) {
	c, err := startChild(p.command, p.options, p.log)
	if err != nil {
		return nil, targets.Info{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.options.StartTimeout, errSlowStart)
	defer cancel()
	defer context.AfterFunc(p.closing, cancel)()
	info, err := c.hello(targets.CaseContext(ctx))
	if err == nil {
		return c, info, nil
	}
	switch {
	case c.hasEnded():
		err = targets.Troublef("the target ended (%s) before it said hello: check that this command is an adapter "+
			"and starts by itself: %s",
			c.how, shellquote.Join(p.command...))
	case errors.Is(context.Cause(ctx), errSlowStart):
		err = targets.Troublef("the target did not say hello within %s: check that this command speaks the adapter protocol "+
			"on stdin and stdout: %s",
			p.options.StartTimeout, shellquote.Join(p.command...))
	}
	c.stop()
	var trouble *targets.TroubleError
	if errors.As(err, &trouble) {
		trouble.SlowStart = errors.Is(context.Cause(ctx), errSlowStart)
		trouble.Log = append(c.strayLines(), p.log.own(logLinesShown)...)
	}
	return nil, targets.Info{}, err
}

// hello asks the child who it is.
func (c *child) hello(ctx context.Context) (targets.Info, error) {
	r, err := c.call(ctx, &protocol.Request{Op: protocol.OpHello, Protocol: protocol.Version})
	if err != nil {
		var trouble *targets.TroubleError
		if !errors.As(err, &trouble) {
			err = targets.Troublef("the target answered hello with an error: %v", err)
		}
		return targets.Info{}, err
	}
	if r.Kind != protocol.KindHello || r.Info == nil {
		return targets.Info{}, wrongShape(protocol.OpHello, errors.New(`it must have the kind "hello" and the fields of a hello`))
	}
	switch info := *r.Info; {
	case info.Protocol != protocol.Version:
		return targets.Info{}, targets.Troublef(
			"the target speaks version %d of the adapter protocol, but this zlink-conformance speaks version %d: use an "+
				"adapter kit of the same version",
			info.Protocol, protocol.Version)
	case info.Provider == "":
		return targets.Info{}, wrongShape(protocol.OpHello, errors.New(`the field "provider" is missing`))
	case tooLong(info):
		return targets.Info{}, wrongShape(protocol.OpHello,
			fmt.Errorf("a field is longer than %d bytes, or there are more than %d capabilities", maxInfoBytes, maxInfoList))
	case !info.Offers(targets.StoreLocation) && !info.Offers(targets.StoreRelocation):
		return targets.Info{}, wrongShape(protocol.OpHello,
			errors.New(`the field "stores" names neither "location" nor "relocation"`))
	case info.Layout != targets.LayoutOfficial && info.Layout != targets.LayoutNone:
		return targets.Info{}, wrongShape(protocol.OpHello, errors.New(`the field "layout" is neither "official" nor "none"`))
	default:
		return info, nil
	}
}

// Bounds of a hello, which every report shows.
const (
	maxInfoBytes = 200
	maxInfoList  = 100
)

func tooLong(i targets.Info) bool {
	texts := slices.Concat([]string{i.Provider, i.Language, i.Version, i.Layout}, i.Stores, i.Capabilities)
	return len(i.Stores) > maxInfoList || len(i.Capabilities) > maxInfoList ||
		slices.ContainsFunc(texts, func(s string) bool { return len(s) > maxInfoBytes })
}

// live returns a running child; it starts one if the last has ended.
func (p *target) live(ctx context.Context) (*child, error) {
	until := targets.UntilGivenUp(ctx)
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-until.Done():
		return nil, targets.Troublef("the target was not started again: %v", context.Cause(until))
	}
	if p.current.silenced.Load() {
		p.current.stop() // waits for its end
	}
	switch {
	case p.closing.Err() != nil:
		return nil, targets.Troublef("the target is closed")
	case !p.current.hasEnded():
		return p.current, nil
	case p.restarts == maxRestarts:
		e := targets.Troublef("the target ended again (%s) after %d restarts and is not started any more", p.current.how,
			maxRestarts)
		e.Log = p.log.last(logLinesShown)
		p.silence.lose(e, targets.LostTarget)
		return nil, e
	}
	p.restarts++
	c, _, err := p.start(until)
	if err != nil {
		return nil, err
	}
	p.current = c
	return c, nil
}

func (p *target) Info() targets.Info { return p.info }

func (p *target) Log(mark int64) ([]string, int64) { return p.log.since(mark) }

// Close ends the process and everything that it started; further calls do
// nothing.
func (p *target) Close() error {
	var err error
	p.closeOnce.Do(func() {
		p.close()
		p.turn <- struct{}{}
		defer func() { <-p.turn }()
		if p.current.stop(); !p.current.hasEnded() {
			err = targets.Troublef("the target's process %d could not be killed", p.current.process.Pid)
		}
		if p.removeDir != nil {
			p.removeDir()
		}
	})
	return err
}

func (p *target) Surface(ctx context.Context) ([]string, error) {
	c, err := p.live(ctx)
	if err != nil {
		return nil, err
	}
	r, err := c.call(ctx, &protocol.Request{Op: protocol.OpSurface})
	return shaped(protocol.OpSurface, r, err, (*protocol.Result).Surface)
}

func (p *target) OpenLocation(ctx context.Context, config targets.StoreConfig) (targets.Location, error) {
	s, err := p.open(ctx, targets.StoreLocation, config)
	if err != nil {
		return nil, err
	}
	return &remoteLocation{s}, nil
}

func (p *target) OpenRelocation(ctx context.Context, config targets.StoreConfig) (targets.Relocation, error) {
	s, err := p.open(ctx, targets.StoreRelocation, config)
	if err != nil {
		return nil, err
	}
	return &remoteRelocation{s}, nil
}

// open opens a store on a running child. One that is stopped for the silence of
// others, before it has answered, says nothing of this store: the next is asked.
func (p *target) open(ctx context.Context, store string, config targets.StoreConfig) (*remoteStore, error) {
	for {
		c, err := p.live(ctx)
		if err != nil {
			return nil, err
		}
		s, err := p.openOn(ctx, c, store, config)
		if err == nil || !c.silenced.Load() || targets.UntilGivenUp(ctx).Err() != nil {
			return s, err
		}
	}
}

func (p *target) openOn(
	ctx context.Context, c *child, store string, config targets.StoreConfig,
) (*remoteStore, error) {
	s := &remoteStore{child: c, handle: p.handles.Add(1), store: store, silence: p.silence}
	r := &protocol.Request{
		Op: protocol.OpOpen, Handle: s.handle, Store: store, KeyPrefix: config.KeyPrefix,
		Redis:              &config.Redis,
		OperationTimeoutMs: (config.OperationTimeout + time.Millisecond - 1).Milliseconds(),
	}
	if config.Share != nil {
		shared, ok := config.Share.(interface{ remote() *remoteStore })
		if !ok || shared.remote().child != c {
			return nil, targets.Troublef("the store to share a connection with was opened by a process that has ended")
		}
		r.Share = shared.remote().handle
	}
	return s, s.expect(ctx, r, protocol.KindOpened)
}
