package model

import (
	"fmt"
	"math/rand/v2"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// mix says how often each operation comes in a random script, and on what.
type mix struct {
	write, read, scan, next, rest            int
	blobPut, blobRead, blobRenew, blobDelete int
	advance                                  int
	keys                                     []spi.Key
	references                               []spi.Reference
	retentions                               []spi.Retention // ms; 0: a durable value
	sharedPrefix                             bool
}

var (
	fewKeys = []spi.Key{"a", "A", "a*", "a\x00", "é"} // a careless provider takes some for the same
	refs    = []spi.Reference{"r", "R", "r:{}\x00"}
	lasting = []spi.Retention{0, 0, 0, hour}
	hours   = []spi.Retention{hour, 2 * hour, 3 * hour}
	seconds = []spi.Retention{0, 1000, 1000, 2500, hour}
)

// hour in ms; it outlives every case.
const hour = 3600_000

// lengths are of values: around the bounds of MessagePack's lengths and of
// buffers, and rarely the largest.
var lengths = []int{31, 32, 33, 255, 256, 257, 4096, 65535, 65536}

// random makes a script of n operations.
func (m mix) random(r *rand.Rand, n int) Script {
	g := generator{mix: m, Rand: r}
	script := make(Script, n)
	for i := range script {
		script[i] = g.line()
	}
	return script
}

type generator struct {
	mix
	*rand.Rand
	scans []string
	puts  int
}

func (g *generator) line() line {
	l := line{step: g.step()}
	switch l.step.(type) {
	case nextStep, restStep, advanceStep:
	default:
		l.byReference = g.sharedPrefix && g.IntN(2) == 0
	}
	return l
}

func (g *generator) step() step {
	weights := []int{g.write, g.read, g.scan, g.next, g.rest, g.blobPut, g.blobRead, g.blobRenew, g.blobDelete, g.advance}
	if len(g.scans) == 0 {
		weights[3], weights[4] = 0, 0
	}
	switch g.weighted(weights) {
	case 0:
		return g.batch()
	case 1:
		return readStep{pick(g, g.keys)}
	case 2:
		s := scanStep{fmt.Sprintf("s%d", len(g.scans)+1), pick(g, []string{"", "", "", "a", "a*"}), 1 + g.IntN(3)}
		g.scans = append(g.scans, s.name)
		return s
	case 3:
		return nextStep{g.openScan(), 1 + g.IntN(3)}
	case 4:
		return restStep{g.openScan(), 1 + g.IntN(4)}
	case 5:
		return blobPutStep{pick(g, g.references), g.payload(), g.retention(hour)}
	case 6:
		return blobReadStep{pick(g, g.references)}
	case 7:
		return blobRenewStep{pick(g, g.references), g.retention(hour)}
	case 8:
		return blobDeleteStep{pick(g, g.references)}
	}
	return advanceStep{int64(pick(g, []int{1, 400, 1500, 3000}))}
}

func (g *generator) weighted(weights []int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	at := g.IntN(total)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	panic("no weight")
}

func pick[E any](g *generator, of []E) E { return of[g.IntN(len(of))] }

// openScan is one of the last scans: the others have mostly ended.
func (g *generator) openScan() string {
	return g.scans[len(g.scans)-1-g.IntN(min(len(g.scans), 4))]
}

// retention is one of the mix's, or other in place of none.
func (g *generator) retention(other spi.Retention) spi.Retention {
	if r := pick(g, g.retentions); r != 0 {
		return r
	}
	return other
}

func (g *generator) batch() step {
	var w writeStep
	for _, at := range g.Perm(len(g.keys))[:g.weighted([]int{5, 4, 1})] {
		w.conditions = append(w.conditions, g.condition(g.keys[at]))
	}
	few := g.weighted([]int{1, 12, 5, 3})
	if len(w.conditions) == 0 {
		few = max(few, 1)
	}
	for _, at := range g.Perm(len(g.keys))[:few] {
		key := g.keys[at]
		if len(w.conditions) == 1 && few == 1 && g.IntN(3) > 0 {
			key = w.conditions[0].key // as a caller does that claims or releases
		}
		w.mutations = append(w.mutations, g.mutation(key))
	}
	return w
}

func (g *generator) condition(key spi.Key) condition {
	c := condition{key: key, from: key}
	switch g.weighted([]int{5, 8, 3, 1}) {
	case 0:
		c.missing, c.from = true, ""
	case 2:
		c.back = 1 + g.IntN(2)
	case 3:
		c.from = pick(g, g.keys)
	}
	return c
}

func (g *generator) mutation(key spi.Key) mutation {
	if g.IntN(3) == 0 {
		return mutation{key: key, delete: true}
	}
	m := mutation{key: key, value: g.value()}
	if r := pick(g, g.retentions); r != 0 {
		m.retention = &r
	}
	return m
}

// value is mostly one that no other Put of the script has.
func (g *generator) value() data {
	g.puts++
	switch n := g.IntN(400); {
	case n == 0:
		return data{length: spi.MaxValueBytes, seed: g.puts}
	case n < 30:
		return data{length: pick(g, lengths), seed: g.puts}
	case n < 50:
		return data{text: pick(g, []string{"", "\x00", "\xff\xfe", "null", "\"\\\n"})}
	}
	return data{text: fmt.Sprint(g.puts)}
}

// payload is often one that was put before.
func (g *generator) payload() data {
	if n := g.IntN(100); n < 90 {
		return data{text: pick(g, []string{"", "x", "y", "xx", "x\x00"})}
	} else if n == 99 {
		return data{length: 1<<20 + 1, seed: 1}
	}
	return data{length: pick(g, lengths), seed: g.IntN(2)}
}
