package spicases

import (
	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// lease is the retention of a payload and the bracket of the Put or Renew that
// gave it.
type lease struct {
	harness.Bracket
	retention spi.Retention
}

// store stores a payload under a reference that must be free.
func store(t *harness.T, r *harness.Relocation, ref spi.Reference, payload []byte, retention spi.Retention) (spi.Stored, lease) {
	var s spi.Stored
	b := t.Bracket(func() { s = r.MustStore(ref, payload, retention) })
	return s, lease{b, retention}
}

// renewFor renews a payload that must be there.
func renewFor(t *harness.T, r *harness.Relocation, ref spi.Reference, retention spi.Retention) (spi.Renewed, lease) {
	var n spi.Renewed
	b := t.Bracket(func() { n = r.MustRenew(ref, retention) })
	return n, lease{b, retention}
}

// told checks an expiry that the Put or Renew itself answered.
func (l lease) told(t *harness.T, requirement, what string, expiresAt spi.Millis) {
	t.Expires(requirement, what, l.Bracket, l.retention, expiresAt)
}

// find reads a payload that must be there and checks that it expires as the
// lease says.
func (l lease) find(t *harness.T, r *harness.Relocation, ref spi.Reference, requirement, what string) spi.BlobFound {
	var f spi.BlobFound
	read := t.Bracket(func() { f = r.MustFind(ref) })
	lease{l.Widened(read), l.retention}.told(t, requirement, what, f.ExpiresAt)
	return f
}

// awaitEnd waits until the payload must be gone.
func (l lease) awaitEnd(t *harness.T) {
	_, high := l.Expiry(l.retention)
	awaitExpiry(t, high+1)
}
