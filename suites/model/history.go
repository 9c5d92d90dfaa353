package model

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// registers are the keys of a concurrent history, few so that clients meet.
var registers = [...]spi.Key{"r0", "r1", "r2"}

// values are what the registers hold: the text of a value, or "" for none. All
// Puts of a history have texts of their own, so that a text stands for its Put
// and for the version that the Put was given.
type values [len(registers)]string

// effect is what a batch expects of and does to one register.
type effect struct {
	register int
	checked  bool // expects the value
	expected string
	changed  bool // to the value
	value    string
}

// input is one operation: a read of a register, a scan of all, or a batch.
type input struct {
	kind     kind
	register int // of a read
	effects  []effect
}

type kind int

const (
	reading kind = iota
	scanning
	writing
)

// outcome is what a client was told.
type outcome int

const (
	seen     outcome = iota // values, of a read or scan
	applied                 // of a batch
	conflict                // of a batch
	unknown                 // of a batch whose reply was lost
)

type output struct {
	outcome outcome
	values  values
}

// sequential is the contract for one operation at a time: whether the registers, holding the state,
// may answer so, and what they hold then.
func sequential(state values, in input, out output) (bool, values) {
	switch in.kind {
	case reading:
		return state[in.register] == out.values[in.register], state
	case scanning:
		return state == out.values, state
	}
	next := state
	for _, e := range in.effects {
		if e.checked && state[e.register] != e.expected {
			return out.outcome != applied, state
		}
		if e.changed {
			next[e.register] = e.value
		}
	}
	// A batch whose reply was lost may have been applied; that it never was is
	// the same as that it was after all others.
	return out.outcome != conflict, next
}

// registerModel is the sequential contract as porcupine wants it. Where every
// operation is of one register, the registers are checked one by one.
func registerModel(single bool) porcupine.Model {
	m := porcupine.Model{
		Init: func() any { return values{} },
		Step: func(state, in, out any) (bool, any) { return sequential(state.(values), in.(input), out.(output)) },
		DescribeOperation: func(in, out any) string {
			return describe(in.(input), out.(output))
		},
		DescribeState: func(state any) string {
			v := state.(values)
			return fmt.Sprintf("%q", v[:])
		},
	}
	if single {
		m.Partition = func(history []porcupine.Operation) [][]porcupine.Operation {
			parts := make([][]porcupine.Operation, len(registers))
			for _, o := range history {
				r := o.Input.(input).first()
				parts[r] = append(parts[r], o)
			}
			return slices.DeleteFunc(parts, func(p []porcupine.Operation) bool { return len(p) == 0 })
		}
	}
	return m
}

func (in input) first() int {
	if in.kind == writing {
		return in.effects[0].register
	}
	return in.register
}

func describe(in input, out output) string {
	switch in.kind {
	case reading:
		return fmt.Sprintf("read %s → %s", registers[in.register], shownValue(out.values[in.register]))
	case scanning:
		return fmt.Sprintf("scan → %q", out.values[:])
	}
	var conditions, mutations []string
	for _, e := range in.effects {
		if e.checked {
			conditions = append(conditions, fmt.Sprintf("%s is %s", registers[e.register], shownValue(e.expected)))
		}
		if e.changed {
			mutations = append(mutations, fmt.Sprintf("%s := %s", registers[e.register], shownValue(e.value)))
		}
	}
	return fmt.Sprintf("if %s do %s → %s", strings.Join(conditions, ", "), strings.Join(mutations, ", "),
		[...]string{seen: "seen", applied: "applied", conflict: "conflict", unknown: "reply lost"}[out.outcome])
}

func shownValue(v string) string {
	if v == "" {
		return "missing"
	}
	return strconv.Quote(v)
}

// history records the operations of concurrent clients.
type history struct {
	started time.Time

	mu         sync.Mutex
	operations []porcupine.Operation
	version    map[spi.Key]map[string]spi.Version // by value
	value      map[spi.Key]map[spi.Version]string
}

func newHistory() *history {
	h := &history{started: time.Now(), version: map[spi.Key]map[string]spi.Version{}, value: map[spi.Key]map[spi.Version]string{}}
	for _, k := range registers {
		h.version[k], h.value[k] = map[string]spi.Version{}, map[spi.Version]string{}
	}
	return h
}

func (h *history) clock() int64 { return int64(time.Since(h.started)) }

// never is the end of an operation whose reply was lost.
const never = int64(1) << 62

func (h *history) record(client int, in input, call int64, out output, end int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end})
}

// versioned notes that a value was seen under a version: a Put has one, and a
// version is of one Put.
func (h *history) versioned(key spi.Key, value string, version spi.Version) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if other, ok := h.value[key][version]; ok && other != value {
		return broken("L3.version-fresh", "the version %.100q of %q is that of the values %q and %q", version, key, other, value)
	}
	if other, ok := h.version[key][value]; ok && other != version {
		return broken("L4.applied", "the value %q of %q, which was put once, has the versions %.100q and %.100q", value, key,
			other, version)
	}
	h.value[key][version], h.version[key][value] = value, version
	return nil
}

// lines are the operations in the order of their calls, for people.
func (h *history) lines() []string {
	ops := slices.Clone(h.operations)
	sort.Slice(ops, func(i, j int) bool { return ops[i].Call < ops[j].Call })
	var out []string
	for _, o := range ops {
		end := "never"
		if o.Return != never {
			end = fmt.Sprint(time.Duration(o.Return).Round(time.Microsecond))
		}
		out = append(out, fmt.Sprintf("client %d, %v to %s: %s", o.ClientId, time.Duration(o.Call).Round(time.Microsecond), end,
			describe(o.Input.(input), o.Output.(output))))
	}
	return out
}
