package model

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// ParseScript reads the text of a script. Empty lines, indentation and lines
// that start with # are ignored. The error names the line and what is wrong
// with it.
func ParseScript(text string) (Script, error) {
	var s Script
	open := map[string]bool{}
	for i, raw := range strings.Split(text, "\n") {
		raw = strings.TrimSpace(raw)
		if raw == "" || raw[0] == '#' {
			continue
		}
		l, err := parseLine(raw, open)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		s = append(s, l)
	}
	if len(s) == 0 {
		return nil, errors.New("the script holds no operation")
	}
	return s, nil
}

// token is a word, a comma or a quoted text.
type token struct {
	text   string
	quoted bool
}

func (t token) String() string {
	if t.quoted {
		return strconv.QuoteToASCII(t.text)
	}
	return t.text
}

func tokens(raw string) ([]token, error) {
	var out []token
	for raw != "" {
		switch {
		case raw[0] == ' ' || raw[0] == '\t':
			raw = raw[1:]
		case raw[0] == ',':
			out = append(out, token{text: ","})
			raw = raw[1:]
		case raw[0] == '"':
			q, err := strconv.QuotedPrefix(raw)
			if err != nil {
				return nil, errors.New(`a quoted text does not end, or holds an escape that is none: use \", \\, \n or \x00`)
			}
			text, err := strconv.Unquote(q)
			if err != nil {
				return nil, fmt.Errorf("%s is no quoted text", q)
			}
			out = append(out, token{text, true})
			raw = raw[len(q):]
		default:
			end := strings.IndexAny(raw, " \t,\"")
			if end < 0 {
				end = len(raw)
			}
			word := raw[:end]
			if !plainName.MatchString(word) {
				return nil, fmt.Errorf("%q must stand in double quotes", word)
			}
			out = append(out, token{text: word})
			raw = raw[end:]
		}
	}
	return out, nil
}

// parser takes tokens from the left; its methods panic with a syntaxError.
type parser struct{ rest []token }

type syntaxError struct{ error }

func fault(format string, args ...any) { panic(syntaxError{fmt.Errorf(format, args...)}) }

func parseLine(raw string, open map[string]bool) (l line, err error) {
	all, err := tokens(raw)
	if err != nil {
		return line{}, err
	}
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(syntaxError)
			if !ok {
				panic(p)
			}
			err = e.error
		}
	}()
	p := &parser{all}
	l.byReference = p.accept("reference")
	l.step = p.step(open)
	if len(p.rest) > 0 {
		fault("unexpected %s after the operation", p.rest[0])
	}
	if _, page := l.step.(nextStep); l.byReference && page {
		fault("the provider that opened a scan reads its pages: leave out reference")
	}
	if _, page := l.step.(restStep); l.byReference && page {
		fault("the provider that opened a scan reads its pages: leave out reference")
	}
	if _, advance := l.step.(advanceStep); l.byReference && advance {
		fault("the clock is nobody's: leave out reference")
	}
	return l, nil
}

func (p *parser) step(open map[string]bool) step {
	switch op := p.word("an operation"); op {
	case "write":
		return p.write()
	case "read":
		return readStep{spi.Key(p.name("key"))}
	case "scan":
		s := scanStep{name: p.word("a name for the scan")}
		if open[s.name] {
			fault("a scan %s was opened before: use another name", s.name)
		}
		open[s.name] = true
		p.expect("prefix")
		s.prefix = p.quoted("the prefix")
		s.limit = p.limit()
		return s
	case "next", "rest":
		scan := p.word("the name of a scan")
		if !open[scan] {
			fault("no scan %s was opened before", scan)
		}
		if op == "next" {
			return nextStep{scan, p.limit()}
		}
		return restStep{scan, p.limit()}
	case "blob":
		return p.blob()
	case "advance":
		n := p.number("milliseconds", 1, math.MaxInt32)
		return advanceStep{int64(n)}
	default:
		fault("%s is no operation: use write, read, scan, next, rest, blob or advance", op)
	}
	return nil
}

func (p *parser) write() step {
	var w writeStep
	if p.accept("if") {
		for first := true; first || p.accept(","); first = false {
			c := p.condition()
			if slices.ContainsFunc(w.conditions, func(o condition) bool { return o.key == c.key }) {
				fault("the key %s stands twice in the conditions", name(c.key))
			}
			w.conditions = append(w.conditions, c)
		}
	}
	if p.accept("do") {
		for first := true; first || p.accept(","); first = false {
			m := p.mutation()
			if slices.ContainsFunc(w.mutations, func(o mutation) bool { return o.key == m.key }) {
				fault("the key %s stands twice in the mutations", name(m.key))
			}
			w.mutations = append(w.mutations, m)
		}
	}
	if len(w.conditions)+len(w.mutations) == 0 {
		fault("write needs conditions after if, mutations after do, or both")
	}
	return w
}

func (p *parser) condition() condition {
	switch kind := p.word("a condition"); kind {
	case "missing":
		return condition{key: spi.Key(p.name("key")), missing: true}
	case "version":
		c := condition{key: spi.Key(p.name("key"))}
		c.from = c.key
		if p.accept("from") {
			c.from = spi.Key(p.name("key"))
		}
		if p.accept("back") {
			c.back = p.number("a count of versions", 1, math.MaxInt32)
		}
		return c
	default:
		fault("%s is no condition: use missing or version", kind)
	}
	return condition{}
}

func (p *parser) mutation() mutation {
	switch kind := p.word("a mutation"); kind {
	case "put":
		m := mutation{key: spi.Key(p.name("key")), value: p.data()}
		if p.accept("for") {
			ms := p.retention()
			m.retention = &ms
		}
		return m
	case "delete":
		return mutation{key: spi.Key(p.name("key")), delete: true}
	default:
		fault("%s is no mutation: use put or delete", kind)
	}
	return mutation{}
}

func (p *parser) blob() step {
	switch op := p.word("an operation on a blob"); op {
	case "put":
		s := blobPutStep{ref: spi.Reference(p.name("reference")), value: p.data()}
		p.expect("for")
		s.retention = p.retention()
		return s
	case "read":
		return blobReadStep{spi.Reference(p.name("reference"))}
	case "renew":
		s := blobRenewStep{ref: spi.Reference(p.name("reference"))}
		p.expect("for")
		s.retention = p.retention()
		return s
	case "delete":
		return blobDeleteStep{spi.Reference(p.name("reference"))}
	default:
		fault("%s is no operation on a blob: use put, read, renew or delete", op)
	}
	return nil
}

func (p *parser) data() data {
	if p.accept("fill") {
		return data{length: p.number("a length", 1, spi.MaxBlobBytes), seed: p.number("a seed", 0, math.MaxInt32)}
	}
	return data{text: p.quoted(`a value ("..." or fill LENGTH SEED)`)}
}

func (p *parser) limit() int {
	p.expect("limit")
	return p.number("a limit", 1, spi.MaxScanLimit)
}

var number = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?$`)

// retention takes all that the SPI holds: a double, also one that every
// provider must refuse.
func (p *parser) retention() spi.Retention {
	t := p.next("milliseconds")
	ms, err := strconv.ParseFloat(t.text, 64)
	if err != nil || t.quoted || !number.MatchString(t.text) {
		fault("%s where milliseconds belong: a number such as 1500, 0.5, -1 or 1e19", t)
	}
	return spi.Retention(ms)
}

func (p *parser) next(what string) token {
	if len(p.rest) == 0 {
		fault("%s is missing at the end", what)
	}
	t := p.rest[0]
	p.rest = p.rest[1:]
	return t
}

func (p *parser) accept(word string) bool {
	if len(p.rest) > 0 && p.rest[0] == (token{text: word}) {
		p.rest = p.rest[1:]
		return true
	}
	return false
}

func (p *parser) expect(word string) {
	if t := p.next(word); t != (token{text: word}) {
		fault("%s where %s belongs", t, word)
	}
}

func (p *parser) word(what string) string {
	t := p.next(what)
	if t.quoted || t.text == "," {
		fault("%s where %s belongs", t, what)
	}
	return t.text
}

// name takes a key or reference, quoted or not.
func (p *parser) name(what string) string {
	t := p.next("a " + what)
	if t == (token{text: ","}) {
		fault(", where a %s belongs", what)
	}
	if t.text == "" {
		fault("a %s must not be empty", what)
	}
	return t.text
}

func (p *parser) quoted(what string) string {
	t := p.next(what)
	if !t.quoted {
		fault("%s where %s belongs", t, what)
	}
	return t.text
}

func (p *parser) number(what string, low, high int) int {
	t := p.next(what)
	n, err := strconv.Atoi(t.text)
	if err != nil || t.quoted || n < low || n > high {
		fault("%s where %s from %d to %d belongs", t, what, low, high)
	}
	return n
}
