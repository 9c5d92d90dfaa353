package resilience

import (
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

const database = 3

// reconnectCases: what a connection needs is done on each new one.
func reconnectCases() []harness.Case {
	requirements := func(k *kind) string { return k.recover + " L10.connection " + k.unknown }
	return append(
		eachKind("connection/every-one-set-up",
			"A %s with a password and a database of another number uses them on each new connection, "+
				"however the last one was lost.",
			requirements, setUpAgain),
		eachKind("connection/every-one-encrypted", "A %s that speaks TLS speaks it on each new connection.",
			func(k *kind) string { return k.recover + " " + k.unknown }, encryptedAgain, targets.CapTLS)...)
}

// openDatabase is openOn in database 3 of the server.
func openDatabase(t *harness.T, k *kind, server *redisenv.Server, timeout time.Duration) *wiring {
	w := &wiring{t: t, kind: k, proxy: t.Proxy(server)}
	w.openAt(server.ConnInfo(), w.proxy.ConnInfo(), timeout)
	return w
}

// openAt opens both instances in database 3.
func (w *wiring) openAt(direct, through redisenv.ConnInfo, timeout time.Duration) {
	direct.DB, through.DB = database, database
	direct, through = rewritten(direct), rewritten(through)
	side, faulty := harness.Store{Conn: &direct}, harness.Store{Conn: &through, Timeout: timeout}
	if w.kind == &location {
		w.sideLocation, w.location = w.t.Target().OpenLocation(side), w.t.Target().OpenLocation(faulty)
	} else {
		w.sideRelocation, w.relocation = w.t.Target().OpenRelocation(side), w.t.Target().OpenRelocation(faulty)
	}
}

// mishaps are ways to lose the connections that a store has.
var mishaps = []struct {
	title string
	meet  func(w *wiring)
}{
	{"its connections were cut", func(w *wiring) { w.proxy.CutAll() }},
	{"a command reset its connection", func(w *wiring) { w.meet(redisenv.Match{}, redisenv.Cut()) }},
	{"a reply was lost", func(w *wiring) { w.meet(redisenv.Match{}, redisenv.DropReply()) }},
	{"nothing was answered", func(w *wiring) { w.meet(redisenv.Match{}, redisenv.Swallow()) }},
	{"connections were refused", func(w *wiring) {
		w.proxy.Refuse()
		w.proxy.CutAll()
		_ = w.ping()
	}},
	{"a new connection was lost while it was set up", func(w *wiring) {
		w.proxy.CutAll()
		w.meet(setUp, redisenv.Cut())
	}},
	{"the set-up of a new connection was not answered", func(w *wiring) {
		w.proxy.CutAll()
		w.meet(setUp, redisenv.Swallow())
	}},
	{"the reply to the set-up of a new connection was lost", func(w *wiring) {
		w.proxy.CutAll()
		w.meet(setUp, redisenv.DropReply())
	}},
}

// meet lets an operation meet a fault, whatever comes of it.
func (w *wiring) meet(m redisenv.Match, a redisenv.Action) {
	w.proxy.Arm(m, a)
	_ = w.ping()
}

func setUpAgain(t *harness.T, k *kind) {
	s := t.Server(redisenv.ServerOptions{Password: "secret"})
	w := openDatabase(t, k, s, failingTimeout)
	w.warm()
	for _, m := range mishaps {
		m.meet(w)
		w.heal()
		w.writesSeen("after " + m.title)
	}
	onlyDatabase3(t, s)
}

// writesSeen waits until the instance writes and reads again, on more
// connections than one, and looks whether another instance sees what it wrote.
func (w *wiring) writesSeen(after string) {
	const many = 8
	for _, name := range w.atOnce(many, after) {
		now := w.lookAt(name)()
		w.t.Checkf(now.bytes == name, w.kind.recover,
			"what the instance wrote %s is not where it wrote before: of %q another instance says that %s",
			after, name, now)
	}
}

// encryptedAgain lets Redis end the connections: the fault proxy can't read
// them.
func encryptedAgain(t *harness.T, k *kind) {
	s := t.Server(redisenv.ServerOptions{TLS: true})
	w := &wiring{t: t, kind: k}
	w.openAt(s.ConnInfo(), s.ConnInfo(), 0)
	admin := t.Client(s)
	w.warm()
	for range 3 {
		if err := admin.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
			t.Troublef("CLIENT KILL failed: %v", err)
		}
		w.works("after Redis ended its connections")
		var name string
		w.t.Await(k.recover, "a successful write and read after Redis ended its connections", recoverLimit, func() bool {
			name = w.fresh("seen")
			return w.roundTrip(name) == nil
		})
		var now state
		w.t.Await(k.recover, "a read by another instance after Redis ended its connections", recoverLimit, func() bool {
			var err error
			now, err = w.sideState(name)
			return err == nil
		})
		t.Checkf(now.bytes == name, k.recover,
			"what the instance wrote after Redis ended its connections is not where it wrote before: %s", now)
	}
}

// sideState reads a name on the other instance.
func (w *wiring) sideState(name string) (state, error) {
	if w.kind == &location {
		r, err := w.sideLocation.Read(w.t.Context(), spi.Key(name))
		return stateOf(r), err
	}
	r, err := w.sideRelocation.Read(w.t.Context(), spi.Reference(name))
	return stateOf(r), err
}
