package model

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// Script is a sequence of operations. Its text, one operation a line, is what
// ParseScript reads.
type Script []line

// line is one operation and who performs it: the target, or the reference
// where both work on one key prefix.
type line struct {
	step        step
	byReference bool
}

// step is an operation of a script as its line says it.
type step interface{ String() string }

type (
	// writeStep is a conditional atomic batch.
	writeStep struct {
		conditions []condition
		mutations  []mutation
	}
	readStep struct{ key spi.Key }
	// scanStep asks for the first page of a snapshot.
	scanStep struct {
		name, prefix string
		limit        int
	}
	// nextStep asks for one more page, restStep for all that follow; without
	// pages left they do nothing.
	nextStep struct {
		name  string
		limit int
	}
	restStep struct {
		name  string
		limit int
	}
	blobPutStep struct {
		ref       spi.Reference
		value     data
		retention spi.Retention
	}
	blobReadStep  struct{ ref spi.Reference }
	blobRenewStep struct {
		ref       spi.Reference
		retention spi.Retention
	}
	blobDeleteStep struct{ ref spi.Reference }
	// advanceStep moves the server's clock on.
	advanceStep struct{ ms int64 }
)

// condition holds while its key is missing, or while its version is the one
// that the script means: of all versions that were issued for from, in the
// order of issue, the last but back.
type condition struct {
	key     spi.Key
	missing bool
	from    spi.Key // usually key itself
	back    int
}

// mutation puts a value, for ever if it has no retention, or deletes the key.
type mutation struct {
	key       spi.Key
	delete    bool
	value     data
	retention *spi.Retention
}

// retentions are those of the batch's Puts that have one.
func (s writeStep) retentions() []spi.Retention {
	var all []spi.Retention
	for _, m := range s.mutations {
		if m.retention != nil {
			all = append(all, *m.retention)
		}
	}
	return all
}

// data is a value: a short text, or length bytes that follow from the seed.
type data struct {
	text         string
	length, seed int
}

func (d data) bytes() []byte {
	if d.length == 0 {
		return []byte(d.text)
	}
	b := make([]byte, d.length)
	for i := range b {
		b[i] = byte(i ^ i>>8*31 + d.seed)
	}
	return b
}

func (s Script) String() string {
	var b strings.Builder
	for _, l := range s {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}

func (l line) String() string {
	if l.byReference {
		return "reference " + l.step.String()
	}
	return l.step.String()
}

func (s writeStep) String() string {
	var parts []string
	if len(s.conditions) > 0 {
		parts = append(parts, "if "+join(s.conditions))
	}
	if len(s.mutations) > 0 {
		parts = append(parts, "do "+join(s.mutations))
	}
	return "write " + strings.Join(parts, " ")
}

func (c condition) String() string {
	if c.missing {
		return "missing " + name(c.key)
	}
	s := "version " + name(c.key)
	if c.from != c.key {
		s += " from " + name(c.from)
	}
	if c.back > 0 {
		s += " back " + strconv.Itoa(c.back)
	}
	return s
}

func (m mutation) String() string {
	if m.delete {
		return "delete " + name(m.key)
	}
	s := "put " + name(m.key) + " " + m.value.String()
	if m.retention != nil {
		s += " for " + ms(*m.retention)
	}
	return s
}

func (d data) String() string {
	if d.length == 0 {
		return strconv.QuoteToASCII(d.text)
	}
	return fmt.Sprintf("fill %d %d", d.length, d.seed)
}

func (s readStep) String() string { return "read " + name(s.key) }
func (s scanStep) String() string {
	return fmt.Sprintf("scan %s prefix %s limit %d", s.name, strconv.QuoteToASCII(s.prefix), s.limit)
}
func (s nextStep) String() string { return fmt.Sprintf("next %s limit %d", s.name, s.limit) }
func (s restStep) String() string { return fmt.Sprintf("rest %s limit %d", s.name, s.limit) }
func (s blobPutStep) String() string {
	return "blob put " + name(s.ref) + " " + s.value.String() + " for " + ms(s.retention)
}
func (s blobReadStep) String() string { return "blob read " + name(s.ref) }
func (s blobRenewStep) String() string {
	return "blob renew " + name(s.ref) + " for " + ms(s.retention)
}
func (s blobDeleteStep) String() string { return "blob delete " + name(s.ref) }
func (s advanceStep) String() string    { return fmt.Sprintf("advance %d", s.ms) }

func join[S fmt.Stringer](list []S) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = s.String()
	}
	return strings.Join(parts, ", ")
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]+$`)

// name writes a key or reference, in quotes unless it is a plain word.
func name[S ~string](s S) string {
	if plainName.MatchString(string(s)) {
		return string(s)
	}
	return strconv.QuoteToASCII(string(s))
}

// ms writes a retention as [parser.retention] takes it: whole numbers of all
// that 64 bits hold in digits.
func ms(r spi.Retention) string {
	switch m := math.Abs(float64(r)); {
	case m == math.Trunc(m) && m < 1e21:
		return strconv.FormatFloat(float64(r), 'f', 0, 64)
	case m >= 1e-6 && m < 1e21:
		return strconv.FormatFloat(float64(r), 'f', -1, 64)
	}
	return strings.Replace(strconv.FormatFloat(float64(r), 'e', -1, 64), "e+", "e", 1)
}

// uses says which parts of the contract and which surroundings the script
// needs.
func (s Script) uses() (location, relocation, reference, clock bool) {
	for _, l := range s {
		reference = reference || l.byReference
		switch l.step.(type) {
		case blobPutStep, blobReadStep, blobRenewStep, blobDeleteStep:
			relocation = true
		case advanceStep:
			clock = true
		default:
			location = true
		}
	}
	return location, relocation, reference, clock
}

// tidied leaves out pages of scans that the script does not open.
func (s Script) tidied() Script {
	open := map[string]bool{}
	var out Script
	for _, l := range s {
		switch st := l.step.(type) {
		case scanStep:
			open[st.name] = true
		case nextStep:
			if !open[st.name] {
				continue
			}
		case restStep:
			if !open[st.name] {
				continue
			}
		}
		out = append(out, l)
	}
	return out
}
