package redisenv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// proxyConn is one client's connection and its counterpart to the server. One goroutine passes commands on, another one
// the replies.
type proxyConn struct {
	p      *Proxy
	number int
	client *net.TCPConn
	done   chan struct{} // closed when the connection was cut

	mu      sync.Mutex
	idle    *sync.Cond // signalled when a reply was delivered or the connection was cut
	server  *net.TCPConn
	closed  bool
	pending []*Fault // one entry per command that Redis still has to answer: the fault that acts on its reply, or nil
}

var errCut = errors.New("cut by a fault")

// cut ends both connections; with reset the client sees a reset and not an end.
func (c *proxyConn) cut(reset bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	close(c.done)
	if reset {
		_ = c.client.SetLinger(0)
	}
	c.client.Close()
	if c.server != nil {
		c.server.Close()
	}
	c.idle.Broadcast()
}

// run serves the connection until it ends.
func (c *proxyConn) run() {
	if f := c.p.noteConnect(); f != nil && !c.atConnect(f) {
		return
	}
	server, err := c.p.dialUpstream()
	if err != nil {
		c.cut(true)
		return
	}
	c.mu.Lock()
	c.server = server
	closed := c.closed
	c.mu.Unlock()
	if closed {
		server.Close()
		return
	}
	toClient, toServer := newSink(c.client), newSink(server)
	fromClient, fromServer := newSource(c.client, toServer), newSource(server, toClient)
	replies := make(chan struct{})
	go func() {
		defer close(replies)
		err := c.passReplies(fromServer, toClient)
		if !errors.Is(err, errCut) {
			_ = toClient.bw.Flush()
		}
		c.cut(false)
	}()
	if err := c.passCommands(fromClient, toServer); err != nil {
		c.cut(false)
	} else { // the client has said its last word: Redis still executes and answers what it was sent
		_ = server.CloseWrite()
	}
	<-replies
}

// atConnect acts on a new connection and reports whether it goes on.
func (c *proxyConn) atConnect(f *Fault) bool {
	f.fire()
	switch a := f.action; a.kind {
	case actDelay:
		return c.wait(time.After(a.delay))
	case actHold, actHoldReply:
		return c.waitReleased(f)
	case actAnswer:
		// The client must be heard out: a close with unread input is a reset, which would overtake the answer.
		_, _ = fmt.Fprintf(c.client, "-%s\r\n", a.text)
		_ = c.client.CloseWrite()
		c.swallow(c.client)
	case actSwallow:
		c.swallow(c.client)
	default:
		c.cut(true)
	}
	return false
}

// wait returns true when the channel has fired, false when the connection was cut before.
func (c *proxyConn) wait(until <-chan time.Time) bool {
	select {
	case <-until:
		return true
	case <-c.done:
		return false
	}
}

func (c *proxyConn) waitReleased(f *Fault) bool {
	select {
	case <-f.released:
		return true
	case <-c.done:
		return false
	}
}

// swallow reads until the client goes.
func (c *proxyConn) swallow(r io.Reader) { _, _ = io.Copy(io.Discard, r) }

// withoutReply lists the commands that are answered by pushes, of a number that only Redis knows.
var withoutReply = map[string]bool{
	"SUBSCRIBE": true, "UNSUBSCRIBE": true, "PSUBSCRIBE": true, "PUNSUBSCRIBE": true, "SSUBSCRIBE": true, "SUNSUBSCRIBE": true,
}

// passCommands passes commands on until the client ends or loses the connection between two commands (nil), or the
// connection fails in another way.
func (c *proxyConn) passCommands(from *source, to *sink) error {
	for {
		h, err := readHead(from)
		if err != nil {
			if errors.Is(err, errProtocol) {
				return err
			}
			return to.bw.Flush()
		}
		cmd := &Command{Conn: c.number, Name: h.name, Key: h.key, Handshake: isHandshake(h.name, h.key)}
		f := c.p.note(cmd)
		if f != nil && !f.action.onReply() {
			if err := to.bw.Flush(); err != nil {
				return err
			}
			if err := c.atCommand(f, cmd, h, from, to); err != nil {
				return err
			}
			continue
		}
		if !withoutReply[h.name] {
			c.push(f)
		}
		c.p.forwarded(cmd)
		size, err := from.copyCommand(to, h)
		if err != nil {
			return err
		}
		c.p.passed(cmd, size)
	}
}

// atCommand deals with a command on which a fault acts before it is forwarded.
func (c *proxyConn) atCommand(f *Fault, cmd *Command, h *head, from *source, to *sink) error {
	switch a := f.action; a.kind {
	case actCut:
		c.awaitIdle()
		c.cut(true)
		f.fire()
		return errCut
	case actSwallow:
		f.fire()
		c.swallow(from.br)
		return errCut
	case actAnswer:
		if _, err := from.copyCommand(io.Discard, h); err != nil {
			return err
		}
		if !c.awaitIdle() {
			return errCut
		}
		_, err := fmt.Fprintf(c.client, "-%s\r\n", a.text)
		f.fire()
		return err
	}
	// Delay and Hold: the whole command is taken first, so that it can be forwarded when the client is gone.
	var whole bytes.Buffer
	if _, err := from.copyCommand(&whole, h); err != nil {
		return err
	}
	f.fire()
	if f.action.kind == actDelay && !c.wait(time.After(f.action.delay)) || f.action.kind == actHold && !c.waitReleased(f) {
		return errCut
	}
	if !withoutReply[h.name] {
		c.push(nil)
	}
	c.p.forwarded(cmd)
	c.p.passed(cmd, int64(whole.Len()))
	_, err := whole.WriteTo(to)
	return err
}

// push notes that Redis owes one more reply.
func (c *proxyConn) push(f *Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, f)
}

// next returns the fault that acts on the reply that comes next, and whether no further reply is owed after it.
func (c *proxyConn) next() (f *Fault, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return nil, true
	}
	return c.pending[0], len(c.pending) == 1
}

// pop notes that a reply was delivered.
func (c *proxyConn) pop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) > 0 {
		c.pending = c.pending[1:]
	}
	if len(c.pending) == 0 {
		c.idle.Broadcast()
	}
}

// awaitIdle waits until every command that was forwarded is answered; false says that the connection was cut instead.
func (c *proxyConn) awaitIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pending) > 0 && !c.closed {
		c.idle.Wait()
	}
	return !c.closed
}

// passReplies passes replies on until the connection ends.
func (c *proxyConn) passReplies(from *source, to *sink) error {
	for {
		first, err := from.br.Peek(1)
		if err != nil {
			return err
		}
		if first[0] == '>' { // a push answers no command
			if err := from.copyReply(to); err != nil {
				return err
			}
			continue
		}
		f, last := c.next()
		if f != nil {
			if err := c.atReply(f, from, to); err != nil {
				return err
			}
		}
		if err := from.copyReply(to); err != nil {
			return err
		}
		if last { // whoever waits for idleness may write to the client: nothing must lie behind
			if err := to.bw.Flush(); err != nil {
				return err
			}
		}
		c.pop()
	}
}

// atReply acts on a reply whose beginning has come: the command has been executed. On nil the reply passes.
func (c *proxyConn) atReply(f *Fault, from *source, to *sink) error {
	if err := to.bw.Flush(); err != nil {
		return err
	}
	switch a := f.action; a.kind {
	case actDropReply:
		if err := from.copyReply(io.Discard); err != nil {
			return err
		}
		c.cut(a.reset)
	case actCutInReply:
		if err := from.copyReply(&limitedWriter{w: c.client, left: a.bytes}); err != nil && !errors.Is(err, errCut) {
			return err
		}
		c.cut(false)
	default:
		f.fire()
		if c.waitReleased(f) {
			return nil
		}
	}
	f.fire()
	return errCut
}

// limitedWriter passes left bytes on and fails then.
type limitedWriter struct {
	w    io.Writer
	left int
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	n, err := l.w.Write(p[:min(len(p), l.left)])
	l.left -= n
	if err == nil && l.left == 0 {
		err = errCut
	}
	return n, err
}
