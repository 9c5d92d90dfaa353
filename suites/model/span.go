package model

import (
	"math"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// span is the range, bounds included, in which a time lies that is not known
// to the millisecond. As an expiry, the zero span means that there is none.
type span struct{ low, high spi.Millis }

func exact(at spi.Millis) span { return span{at, at} }

// moment is when the operation took place.
func moment(during harness.Bracket) span {
	low, high := during.Now()
	return span{low, high}
}

// after is when something ends that is kept for the retention from the span
// on. A fraction may be rounded either way but never to nothing, and what
// doubles do not tell apart is the same. ok is false if 64 bits hold no such
// time, so that only a refusal is right.
func (s span) after(retention spi.Retention) (end span, ok bool) {
	ms := float64(retention)
	if float64(s.low)+ms >= math.MaxInt64 {
		return span{}, false
	}
	least, most := max(1, math.Floor(ms)), math.Ceil(ms)
	if sum := float64(s.low) + ms; sum > 1<<53 {
		least, most = least-sum/(1<<52), most+sum/(1<<52)
	}
	return span{plus(s.low, least), plus(s.high, most)}, true
}

func plus(t spi.Millis, ms float64) spi.Millis {
	if float64(t)+ms >= math.MaxInt64 {
		return math.MaxInt64
	}
	return t + spi.Millis(ms)
}

func (s span) holds(t spi.Millis) bool { return s.low <= t && t <= s.high }

// both is what two spans have in common, which must not be nothing.
func (s span) both(o span) span { return span{max(s.low, o.low), min(s.high, o.high)} }

// state says whether a value is there; unclear is one that may be and may not.
type state int

const (
	gone state = iota
	unclear
	live
)

// mustKeep bounds the retentions, in ms, that every provider keeps: discovery
// and payloads live for days. A longer one may be refused (L4.retention), and
// so may one that is nothing in microseconds.
const (
	mustKeep = 365 * 24 * hour
	finest   = 0.001
)

// refusal says whether an operation with these retentions may or must be an
// argument error.
type refusal int

const (
	wrong refusal = iota
	allowed
	due
)

func refusalOf(retentions ...spi.Retention) refusal {
	r := wrong
	for _, ms := range retentions {
		switch {
		case ms <= 0:
			return due
		case ms < finest, ms > mustKeep:
			r = allowed
		}
	}
	return r
}
