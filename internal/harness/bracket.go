package harness

import (
	"math"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// Bracket is what Redis's clock showed before and after an operation. Times are
// judged by it and never by a constant: a provider may ask for the time by a
// command of its own, and a busy machine lets any time pass in between.
type Bracket struct{ Before, After spi.Millis }

// rounding is the millisecond by which a time may be rounded, and for which
// Redis keeps a key whose expiry has come.
const rounding = 1

// Bracket runs the operation between two readings of the main server's clock.
func (t *T) Bracket(operation func()) Bracket { return t.BracketOn(t.Redis(), operation) }

// BracketOn is Bracket by the clock of the server behind the client.
func (t *T) BracketOn(c *redis.Client, operation func()) Bracket {
	before := t.NowOf(c)
	operation()
	return Bracket{before, t.NowOf(c)}
}

// Now is the range in which the operation's own time lies (L3.store-now,
// R3.store-now).
func (b Bracket) Now() (low, high spi.Millis) { return b.Before - rounding, b.After + rounding }

// Expiry is the range in which an expiry lies that the operation set; a
// fraction of a millisecond may be rounded either way.
func (b Bracket) Expiry(retention spi.Retention) (low, high spi.Millis) {
	low, high = b.Now()
	return low + spi.Millis(math.Floor(float64(retention))), high + spi.Millis(math.Ceil(float64(retention)))
}

// Expires records a finding unless got lies in the range of Expiry, and reports
// whether it does.
func (t *T) Expires(requirement, what string, b Bracket, retention spi.Retention, got spi.Millis) bool {
	low, high := b.Expiry(retention)
	return t.Between(requirement, what, low, got, high)
}

// Widened is the bracket for a time that the operation set and another one
// told, which may have added what was left to a time of its own.
func (b Bracket) Widened(other Bracket) Bracket {
	width := other.After - other.Before
	return Bracket{b.Before - width, b.After + width}
}
