package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// client is one user of the registers, with a store instance of its own.
type client struct {
	t       *harness.T
	number  int
	by      *harness.Provider
	store   *harness.Location
	proxy   *redisenv.Proxy // loses replies; nil: nothing does
	judged  bool            // it is a client of the target
	grouped bool            // its batches change r0 and r1 together
	history *history
	scans   chan struct{} // holds one entry for each open scan of the clients
	rand    *rand.Rand
	last    map[spi.Key]spi.Value // as seen last; no entry: missing
	puts    int
	faults  []*redisenv.Fault
}

// recovery bounds how long a store may need after its connection was cut.
const recovery = 20 * time.Second

// work performs n random operations.
func (c *client) work(n int) {
	for range n {
		roll := c.rand.IntN(10)
		switch {
		case roll < 3:
			c.read(c.rand.IntN(len(registers)))
		case roll < 5 && c.grouped:
			c.scan()
		default:
			c.write()
		}
	}
}

// failed ends the case for an error that nothing explains, and reports whether
// there was one.
func (c *client) failed(what string, err error) bool {
	if err == nil {
		return false
	}
	if !c.judged {
		for _, key := range registers {
			c.t.Notef("the newest member of %s in Redis: %s", key, raw.On(c.t).Shown(key))
		}
		c.by.Fatalf("L9.interop-read", err, "%s of the reference failed among what the target wrote", what)
	}
	if c.proxy == nil {
		c.t.Fatalf("L6.closed-results", "%s failed although nothing disturbed it: %v", what, err)
	}
	return true
}

func (c *client) breach(err error) {
	if b, ok := err.(*breach); ok {
		c.t.Fatalf(b.requirement, "%s", b.what)
	}
}

func (c *client) read(register int) {
	key := registers[register]
	call := c.history.clock()
	res, err := c.store.Read(c.t.Context(), key)
	end := c.history.clock()
	if c.failed("a read", err) {
		return // it changes nothing
	}
	var out output
	delete(c.last, key)
	if f, ok := res.(spi.Found); ok {
		c.saw(key, f.Value, register, &out)
	}
	c.history.record(c.number, input{kind: reading, register: register}, call, out, end)
}

func (c *client) saw(key spi.Key, v spi.Value, register int, out *output) {
	c.breach(c.history.versioned(key, string(v.Bytes), v.Version))
	c.last[key] = v
	out.values[register] = string(v.Bytes)
}

// scan reads all registers in pages of one; they are one observation, made
// while the first page was asked for.
func (c *client) scan() {
	c.scans <- struct{}{}
	defer func() { <-c.scans }()
	call := c.history.clock()
	page := c.store.MustPage(spi.ScanRequest{Prefix: "r", Limit: 1})
	end := c.history.clock()
	var out output
	clear(c.last)
	for _, item := range c.store.MustFinish("r", 1, page) {
		for register, key := range registers {
			if item.Key == key {
				c.saw(key, item.Value, register, &out)
			}
		}
	}
	if out.values[0] != out.values[1] {
		c.t.Failf("L4.isolation", "a scan shows r0 as %s and r1 as %s, which only ever change together",
			shownValue(out.values[0]), shownValue(out.values[1]))
	}
	c.history.record(c.number, input{kind: scanning}, call, out, end)
}

// write is a batch on one register, or on r0 and r1 where they are grouped,
// mostly on condition that a register is still as seen last.
func (c *client) write() {
	in := input{kind: writing}
	c.puts++
	value := fmt.Sprintf("%d.%d", c.number, c.puts)
	if c.rand.IntN(5) == 0 {
		value = "" // a delete
	}
	first := c.rand.IntN(len(registers))
	in.effects = []effect{{register: first, changed: true, value: value}}
	if c.grouped && first < 2 {
		in.effects = []effect{{register: 0, changed: true, value: value}, {register: 1, changed: true, value: value}}
	}
	losing := c.proxy != nil && c.rand.IntN(4) == 0
	if losing {
		c.read(first) // so that the batch mostly applies
	}
	if losing || c.rand.IntN(4) > 0 {
		e := &in.effects[c.rand.IntN(len(in.effects))]
		e.checked, e.expected = true, string(c.last[registers[e.register]].Bytes)
	}
	if losing {
		c.lose()
	}
	call := c.history.clock()
	res, err := c.store.Write(c.t.Context(), c.request(in))
	end := c.history.clock()
	if c.failed("a batch", err) {
		c.history.record(c.number, in, call, output{outcome: unknown}, never)
		c.recover()
		return
	}
	out := output{outcome: conflict}
	if a, ok := res.(spi.Applied); ok {
		out.outcome = applied
		for _, e := range in.effects {
			delete(c.last, registers[e.register])
		}
		for _, p := range a.PutVersions {
			c.breach(c.history.versioned(p.Key, value, p.Version))
			c.last[p.Key] = spi.Value{Bytes: []byte(value), Version: p.Version}
		}
	}
	c.history.record(c.number, in, call, out, end)
	if out.outcome == conflict {
		c.read(first)
	}
}

// lose has the proxy lose the reply to the next command or the one after it,
// which Redis has executed by then.
func (c *client) lose() {
	nth := 1
	if c.rand.IntN(4) == 0 {
		nth = 2
	}
	c.faults = append(c.faults, c.proxy.Arm(redisenv.Match{}.Number(nth), redisenv.DropReply()))
}

// lost reports whether the proxy has lost a reply.
func (c *client) lost() bool {
	return slices.ContainsFunc(c.faults, func(f *redisenv.Fault) bool {
		select {
		case <-f.Fired():
			return true
		default:
			return false
		}
	})
}

func (c *client) request(in input) spi.WriteRequest {
	var r spi.WriteRequest
	for _, e := range in.effects {
		key := registers[e.register]
		if e.checked && e.expected == "" {
			r.Conditions = append(r.Conditions, spi.MissingCondition{Key: key})
		} else if e.checked {
			r.Conditions = append(r.Conditions, spi.VersionCondition{Key: key, Expected: c.last[key].Version})
		}
		if e.value == "" {
			r.Mutations = append(r.Mutations, spi.Delete{Key: key})
		} else {
			r.Mutations = append(r.Mutations, spi.Put{Key: key, Bytes: []byte(e.value)})
		}
	}
	return r
}

// recover waits until the store works again after a lost reply.
func (c *client) recover() {
	c.t.Await("L6.recover", "a read after a cut connection", recovery, func() bool {
		_, err := c.store.Read(c.t.Context(), registers[0])
		return err == nil
	})
}
