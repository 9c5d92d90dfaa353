package spicases

import (
	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// mistaken are the references to which a provider comes that replaces or drops
// what is no UTF-8 in a text: by U+FFFD once, or for each of its three bytes, by
// a question mark, by nothing, or at the bad part's end.
func mistaken() []spi.Reference {
	return []spi.Reference{"a\ufffdb", "a\ufffd\ufffd\ufffdb", "a?b", "a???b", "ab", "a"}
}

// replacedReference judges by what is stored under other references, whatever
// the operations on the bad text answer.
func replacedReference(t *harness.T) {
	const req = "R3.reference-utf8"
	r := t.Relocation()
	stored := map[spi.Reference]lease{}
	for _, ref := range mistaken() {
		_, stored[ref] = store(t, r, ref, []byte("p"), hour)
	}
	operations := blobOperations(t.Context(), surrogate, 24*hour)
	for what, operation := range operations {
		if err := operation(r); err == nil && what != "Delete" {
			t.Failf(req, "%s of the reference %s succeeded, although a payload is stored under others only", what,
				short(surrogate))
		}
	}
	for _, ref := range mistaken() {
		var left spi.BlobReadResult
		read := t.Bracket(func() { left = r.MustRead(ref) })
		f, ok := left.(spi.BlobFound)
		if t.Checkf(ok, req, "the payload of %+q is gone after operations on the reference %s", ref, short(surrogate)) {
			t.EqualBytes(req, "the payload of "+short(string(ref)), []byte("p"), f.Bytes)
			t.Expires(req, "the expiry of the payload of "+short(string(ref)), stored[ref].Widened(read), hour, f.ExpiresAt)
		}
	}
}
