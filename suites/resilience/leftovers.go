package resilience

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// leftover is work that leaves something behind which nobody needs a minute
// later.
type leftover struct {
	slug, title string
	work        func(a *aging)
}

var leftovers = []leftover{
	{"deleted", "100 deleted records", func(a *aging) {
		a.apply(a.hundred(0)...)
		for _, name := range a.names {
			a.apply(del(name))
		}
	}},
	{"expired", "100 expired records", func(a *aging) { a.apply(a.hundred(time.Second)...) }},
	{"scans", "100 scans, of which some were left", func(a *aging) {
		for n := range 100 {
			page := a.next().MustPage(spi.ScanRequest{Prefix: "kept/", Limit: 1})
			if n%4 == 0 {
				a.next().MustFinish("kept/", 1, page)
			}
		}
	}},
	{"history", "the history of 100 records that an open scan has kept", func(a *aging) {
		a.apply(a.hundred(0)...)
		a.open(a.next(), 1)
		for range 3 {
			a.again(0)
		}
		var deletes []spi.Mutation
		for _, name := range a.names {
			deletes = append(deletes, del(name))
		}
		a.apply(deletes...)
	}},
}

func (a *aging) hundred(retention time.Duration) []spi.Mutation {
	puts := make([]spi.Mutation, 100)
	for n := range puts {
		puts[n] = a.put(spi.Key(fmt.Sprintf("p/%02d", n)), retention)
	}
	return puts
}

func leftoverCases() []harness.Case {
	var cases []harness.Case
	for _, o := range leftovers {
		cases = append(cases, locationCase("cleanup/leftover-"+o.slug,
			"Of "+o.title+", later writes remove what is left in Redis.", "L4.reclaim L4.put L5.snapshot",
			func(t *harness.T) { leavesLittle(t, o) }))
	}
	return cases
}

// leavesLittle counts what is in Redis before and after the work, and again
// when a minute and some more has passed and others have written.
func leavesLittle(t *harness.T, o leftover) {
	c := openClock(t, &location, 0)
	a := newAging(c, "left", t.Target())
	for n := range 3 {
		a.next().MustPut(spi.Key(fmt.Sprint("kept/", n)), []byte("v"), nil)
	}
	a.stir()
	before := c.things()
	o.work(a)
	left := c.things() - before
	c.set(70 * time.Second)
	const rounds = 10
	for round := 1; ; round++ {
		a.stir()
		rest := c.things() - before
		if rest <= left/10 {
			return
		}
		if round == rounds {
			t.Fatalf("L4.reclaim", "%d keys and members were left in Redis by %s, and %d still are after 70 s and %d writes",
				left, o.title, rest, 40*rounds)
		}
	}
}

// things are the keys of the case's own server and what is in them.
func (c *clocked) things() (n int64) {
	sizes := map[string]string{"zset": "ZCARD", "hash": "HLEN", "set": "SCARD", "list": "LLEN", "stream": "XLEN"}
	keys := c.client.Scan(c.t.Context(), 0, "*", 1000).Iterator()
	for keys.Next(c.t.Context()) {
		n++
		kind, err := c.client.Type(c.t.Context(), keys.Val()).Result()
		if command, ok := sizes[kind]; ok && err == nil {
			var size int64
			size, err = c.client.Do(c.t.Context(), command, keys.Val()).Int64()
			n += size
		}
		if err != nil {
			c.t.Troublef("counting what is in Redis failed: %v", err)
		}
	}
	if err := keys.Err(); err != nil {
		c.t.Troublef("listing the keys in Redis failed: %v", err)
	}
	return n
}
