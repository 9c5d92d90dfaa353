package redisenv

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Match chooses the commands that a fault acts on. The zero value matches every command that is not a handshake.
type Match struct {
	Commands  []string // names, in any case; empty = all
	Key       string   // part of the first key (of a command without keys: of its first argument); empty = all
	Nth       int      // only the n-th command that matches, counted from 1 since the fault was armed; 0 = every one
	Handshake bool     // also handshake commands; without it they pass and are not counted
	Connect   bool     // not commands, but new connections, before anything is read from them
}

// On matches commands by name.
func On(commands ...string) Match { return Match{Commands: commands} }

// Everything matches every command, those of the handshake included.
func Everything() Match { return Match{Handshake: true} }

// Connecting matches new connections.
func Connecting() Match { return Match{Connect: true} }

// Number narrows m to its n-th match.
func (m Match) Number(n int) Match { m.Nth = n; return m }

// WithKey narrows m to commands whose first key contains part.
func (m Match) WithKey(part string) Match { m.Key = part; return m }

func (m Match) matches(c *Command) bool {
	return !m.Connect && (m.Handshake || !c.Handshake) && strings.Contains(c.Key, m.Key) &&
		(len(m.Commands) == 0 || slices.ContainsFunc(m.Commands, func(n string) bool { return strings.EqualFold(n, c.Name) }))
}

// handshakeCommands are what clients send on their own to set a connection up and to look around.
var handshakeCommands = map[string]bool{
	"HELLO": true, "AUTH": true, "SELECT": true, "CLIENT": true, "PING": true, "ECHO": true, "INFO": true, "COMMAND": true,
	"READONLY": true, "READWRITE": true, "CLUSTER": true, "CONFIG": true, "ROLE": true, "SENTINEL": true, "QUIT": true,
	"RESET": true, "MODULE": true,
	"SUBSCRIBE": true, "UNSUBSCRIBE": true, "PSUBSCRIBE": true, "PUNSUBSCRIBE": true,
}

// isHandshake tells the commands of connection set-up from those of an operation. StackExchange.Redis also reads one
// key of its own when it connects.
func isHandshake(name, key string) bool {
	return handshakeCommands[name] || name == "GET" && key == "__Booksleeve_TieBreak"
}

type actionKind int

const (
	actCut actionKind = iota + 1
	actSwallow
	actDelay
	actHold
	actAnswer
	actDropReply
	actCutInReply
	actHoldReply
)

// Action is what a fault does to a command that it matches.
type Action struct {
	kind  actionKind
	delay time.Duration
	bytes int
	text  string
	reset bool // the client sees a reset and not an end
}

// Cut resets the connection; the command does not reach Redis. Replies to earlier commands are delivered first.
func Cut() Action { return Action{kind: actCut} }

// Swallow takes the command and everything that follows on its connection, forwards nothing and answers nothing.
func Swallow() Action { return Action{kind: actSwallow} }

// Delay forwards the command after d.
func Delay(d time.Duration) Action { return Action{kind: actDelay, delay: d} }

// Hold keeps the command back until [Fault.Release]. It is forwarded then even if the client has gone by that time.
func Hold() Action { return Action{kind: actHold} }

// Answer gives an error reply in Redis's place, such as "OOM command not allowed when used memory > 'maxmemory'.". The
// command does not reach Redis.
func Answer(text string) Action { return Action{kind: actAnswer, text: strings.TrimPrefix(text, "-")} }

// DropReply lets the command reach Redis, awaits the reply, drops it and closes the connection: the command has
// certainly been executed, and the client does not know.
func DropReply() Action { return Action{kind: actDropReply} }

// ResetAtReply is DropReply with a reset of the connection: the client sees what [Cut] shows it, yet the command has been
// executed.
func ResetAtReply() Action { return Action{kind: actDropReply, reset: true} }

// CutInReply lets the command reach Redis, delivers the first n bytes of the reply and closes the connection.
func CutInReply(n int) Action { return Action{kind: actCutInReply, bytes: n} }

// HoldReply lets the command reach Redis and keeps the reply back until [Fault.Release].
func HoldReply() Action { return Action{kind: actHoldReply} }

// onReply reports that the action acts on the reply, so that the command itself passes.
func (a Action) onReply() bool {
	return a.kind == actDropReply || a.kind == actCutInReply || a.kind == actHoldReply
}

// Fault is an action armed in a proxy.
type Fault struct {
	match  Match
	action Action
	seen   int // matches so far; guarded by the proxy's mutex

	fireOnce, releaseOnce sync.Once
	fired, released       chan struct{}
}

// Fired is closed when the fault has acted for the first time: the command is held, the connection is cut, the reply
// has come and was dropped.
func (f *Fault) Fired() <-chan struct{} { return f.fired }

// Release lets everything go that Hold or HoldReply keeps back, and whatever would still come. It may be called more
// than once.
func (f *Fault) Release() { f.releaseOnce.Do(func() { close(f.released) }) }

func (f *Fault) fire() { f.fireOnce.Do(func() { close(f.fired) }) }

// hit counts one match and reports whether the fault acts on it.
func (f *Fault) hit() bool {
	f.seen++
	return f.match.Nth == 0 || f.match.Nth == f.seen
}
