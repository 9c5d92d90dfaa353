package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// calls are the requests that await an answer. The zero value is ready.
type calls struct {
	mu        sync.Mutex
	lastID    int64
	waiting   map[int64]chan reply
	forgotten map[int64]bool // requests whose answers nobody awaits any more
}

// reply is an answer, or why what the target sent is none.
type reply struct {
	answer protocol.Answer
	breach error
}

func (c *calls) add(awaited bool) (int64, chan reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting, c.forgotten = map[int64]chan reply{}, map[int64]bool{}
	}
	c.lastID++
	if !awaited {
		c.forgotten[c.lastID] = true
		return c.lastID, nil
	}
	answered := make(chan reply, 1)
	c.waiting[c.lastID] = answered
	return c.lastID, answered
}

// forget stops waiting; a late answer is then ignored.
func (c *calls) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.waiting[id]; ok {
		delete(c.waiting, id)
		c.forgotten[id] = true
	}
}

// deliver passes a reply on and reports whether the id was known.
func (c *calls) deliver(id int64, r reply) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answered, ok := c.waiting[id]; ok {
		delete(c.waiting, id)
		answered <- r
		return true
	}
	ok := c.forgotten[id]
	delete(c.forgotten, id)
	return ok
}

// call sends a request, to which it gives an ID, and awaits its answer. The
// context is treated as targets.Location says.
func (c *child) call(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	started := time.Now()
	until := targets.UntilGivenUp(ctx)
	r.Cancelled = ctx.Err() != nil
	id, answered := c.calls.add(true)
	defer c.calls.forget(id)
	r.ID = id
	line, err := json.Marshal(r)
	if err != nil {
		return nil, targets.Inexpressible("the adapter protocol cannot carry the request: %v", err)
	}
	if len(line) > protocol.MaxLineBytes {
		return nil, targets.Inexpressible("the adapter protocol cannot carry a request of %d bytes", len(line))
	}
	if until.Err() != nil {
		return nil, targets.Abandoned(ctx, r.Op, started)
	}
	select {
	case c.out <- append(line, '\n'):
	case <-c.ended:
		return nil, c.died(r.Op)
	case <-until.Done():
		return nil, c.abandoned(ctx, r.Op, started)
	}
	token := ctx.Done()
	if r.Cancelled {
		token = nil // the target knows
	}
	cancel := sync.OnceFunc(func() { go c.cancel(id) })
	for {
		select {
		case reply := <-answered:
			return c.open(r, reply)
		case <-token:
			cancel()
			if targets.GivenUp(ctx) {
				return nil, c.abandoned(ctx, r.Op, started)
			}
			token = nil
		case <-until.Done():
			cancel()
			return nil, c.abandoned(ctx, r.Op, started)
		case <-c.ended:
			select {
			case reply := <-answered:
				return c.open(r, reply)
			default:
				return nil, c.died(r.Op)
			}
		}
	}
}

func (c *child) cancel(id int64) {
	r := protocol.Request{Op: protocol.OpCancel, Of: id}
	r.ID, _ = c.calls.add(false)
	line, err := json.Marshal(r)
	if err != nil {
		return
	}
	select {
	case c.out <- append(line, '\n'):
	case <-c.ended:
	}
}

func (c *child) abandoned(ctx context.Context, operation string, started time.Time) *targets.TroubleError {
	e := targets.Abandoned(ctx, operation, started)
	e.Unanswered = true
	e.Log = c.log.last(logLinesShown)
	return e
}

// open returns the result or error that a reply holds. What a child says that is
// stopped since it kept silent is no answer: its kit gives up what hangs when
// stdin ends.
func (c *child) open(request *protocol.Request, r reply) (*protocol.Result, error) {
	operation, a := request.Op, r.answer
	switch {
	case c.silenced.Load():
		return nil, targets.Troublef("the target was stopped, as it kept silent, before it answered %s", operation)
	case r.breach != nil:
		return nil, wrongShape(operation, r.breach)
	case (a.Result == nil) == (a.Error == nil):
		return nil, wrongShape(operation, errors.New(`it must have either the field "result" or "error"`))
	case a.Result != nil:
		return a.Result, nil
	}
	if unusual := request.Unusual(); a.Error.Kind == string(spi.KindUnsupported) && unusual != "" {
		return nil, targets.Inexpressible("the target can't express %s: %s", unusual, a.Error.Message)
	}
	switch kind := spi.ErrorKind(a.Error.Kind); kind {
	case spi.KindArgument, spi.KindTimeout, spi.KindCancelled, spi.KindStoreFailure, spi.KindUnsupported, spi.KindInternal:
		return nil, &spi.Error{Kind: kind, Type: a.Error.Type, Message: a.Error.Message}
	}
	return nil, wrongShape(operation, fmt.Errorf("the field %q is %q, which is no kind of error", "error.kind", a.Error.Kind))
}

func wrongShape(operation string, breach error) *targets.TroubleError {
	return targets.Troublef("the target's answer to %s breaks the adapter protocol: %v", operation, breach)
}

// read takes the lines of stdout until it ends.
func (c *child) read(stdout io.Reader) {
	lines := protocol.NewLines(stdout, protocol.MaxLineBytes)
	for {
		line, length, err := lines.Next()
		if err != nil {
			go c.stop() // without stdout it can answer nothing more
			return
		}
		c.options.traceLine("< ", line)
		c.receive(bytes.TrimSpace(line), length)
	}
}

var leadingID = regexp.MustCompile(`^\{\s*"id"\s*:\s*(\d{1,18})\s*[,}]`)

// receive handles one line of stdout.
func (c *child) receive(line []byte, length int64) {
	if len(line) == 0 {
		return
	}
	var a protocol.Answer
	breach := fmt.Errorf("a line of %d bytes is over the limit of %d", length, protocol.MaxLineBytes)
	if length <= protocol.MaxLineBytes {
		breach = json.Unmarshal(line, &a)
	}
	if breach != nil {
		// Name the operation if the line begins as its answer.
		if m := leadingID.FindSubmatch(line); m != nil {
			if id, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil && c.calls.deliver(id, reply{breach: breach}) {
				return
			}
		}
	}
	switch {
	case breach != nil && line[0] == '{':
		c.stray("the target wrote a broken message (%v): %s", breach, excerpt(line))
	case breach != nil:
		c.stray("the target wrote a line to stdout that is no message (its log belongs on stderr): %s", excerpt(line))
	case a.ID == nil:
		c.stray("the target wrote a message without an id: %s", excerpt(line))
	case !c.calls.deliver(*a.ID, reply{answer: a}):
		c.stray("the target answered request %d, which does not await an answer: %s", *a.ID, excerpt(line))
	}
}

// note adds a line of the harness to the target's log.
func (c *child) note(format string, args ...any) {
	c.log.add(logLine{"zlink-conformance: " + fmt.Sprintf(format, args...), true})
}

// stray notes a line of stdout that is no message, and keeps the first ones:
// they show best what a command is that never says hello.
func (c *child) stray(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.note("%s", text)
	c.strayMu.Lock()
	defer c.strayMu.Unlock()
	if len(c.firstStray) < strayLinesShown {
		c.firstStray = append(c.firstStray, text)
	}
}

func (c *child) strayLines() []string {
	c.strayMu.Lock()
	defer c.strayMu.Unlock()
	return slices.Clone(c.firstStray)
}

func excerpt(line []byte) string {
	const most = 300
	if len(line) > most {
		return strconv.Quote(string(line[:most])) + "..."
	}
	return strconv.Quote(string(line))
}
