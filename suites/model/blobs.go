package model

import (
	"bytes"
	"slices"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// blob is a payload that was stored and not deleted. A provider's time and
// Redis's own may be of different moments of an operation, and Redis keeps a
// key through the millisecond of its expiry; so its expiry is a span, which
// each answer narrows, and while it lasts the payload may be there and may be
// gone.
type blob struct {
	bytes    []byte
	expires  span
	rejected [][]byte // payloads that conflicted with it
	ending   bool     // the last answer was AlreadyStored with an expiry that had come
}

func (b blob) wasRejected(payload []byte) bool {
	return slices.ContainsFunc(b.rejected, func(r []byte) bool { return bytes.Equal(r, payload) })
}

// there answers the blob and whether it is there during the operation.
func (w *world) there(ref spi.Reference) (blob, state) {
	b, ok := w.blobs[ref]
	switch {
	case !ok || w.during.Before > b.expires.high:
		return b, gone
	case w.during.After < b.expires.low:
		return b, live
	}
	return b, unclear
}

// told is the expiry that an answer gave: its time and Redis's may be any two
// of the operation.
func (w *world) told(expires spi.Millis) span {
	width := float64(w.during.After - w.during.Before + rounding)
	return span{plus(expires, -width), plus(expires, width)}
}

// expiryIs judges the expiry that a Put or Renew gave.
func (w *world) expiryIs(requirement, retained string, got spi.Millis, retention spi.Retention) error {
	want, ok := moment(w.during).after(retention)
	if !ok {
		return broken(retained, "a retention of %s ms was kept, though 64 bits hold no time that is so late", ms(retention))
	}
	if !want.holds(got) {
		return broken(requirement, "expiresAt is %d, not %s ms after a moment of the operation, which was from %d to %d",
			got, ms(retention), w.during.Before, w.during.After)
	}
	return nil
}

// stored judges the answer to a Put.
func (w *world) stored(ref spi.Reference, payload []byte, retention spi.Retention, result spi.BlobPutResult) error {
	b, there := w.there(ref)
	switch a := result.(type) {
	case spi.Stored:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		if there == live {
			return broken("R4.put", "Put answered Stored although %q holds a payload", ref)
		}
		if b.ending {
			return lost(ref)
		}
		w.blobs[ref] = blob{bytes: payload, expires: w.told(a.ExpiresAt)}
		delete(w.deletedBlobs, ref)
		return w.expiryIs("R3.expiry-clock", "R4.retention", a.ExpiresAt, retention)
	case spi.AlreadyStored:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		told := w.told(a.ExpiresAt)
		extended, fits := moment(w.during).after(retention)
		switch {
		case there == gone:
			return broken("R4.put", "Put answered AlreadyStored although %q is free", ref)
		case !bytes.Equal(b.bytes, payload) && b.wasRejected(payload):
			return broken("R4.put-keeps", "Put answered AlreadyStored for bytes with which an earlier Put of %q conflicted", ref)
		case !bytes.Equal(b.bytes, payload):
			return broken("R4.put-compare", "Put answered AlreadyStored although %q holds other bytes", ref)
		case told.high < b.expires.low:
			return broken("R4.put-keeps", "a repeated Put of %q shortened its retention by %d ms", ref, b.expires.low-a.ExpiresAt)
		case told.low > b.expires.high && !(fits && told.low <= extended.high):
			return broken("R4.put", "AlreadyStored of %q carries the expiry %d, which no Put or Renew gave", ref, a.ExpiresAt)
		}
		if fits && told.high >= extended.low { // it may have extended it
			b.expires = told
		} else {
			b.expires = b.expires.both(told)
		}
		b.ending = a.ExpiresAt <= a.StoreNow
		w.blobs[ref] = b
		return nil
	case spi.Conflict:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		switch {
		case there == gone:
			return broken("R4.put", "Put answered Conflict although %q is free", ref)
		case bytes.Equal(b.bytes, payload) && len(b.rejected) > 0:
			return broken("R4.put-keeps", "%q no longer holds its bytes after a Put that conflicted", ref)
		case bytes.Equal(b.bytes, payload):
			return broken("R4.put", "Put answered Conflict although %q holds the same bytes", ref)
		}
		b.rejected = append(b.rejected, payload)
		// It may have extended the retention, which only an advisory forbids.
		if extended, fits := moment(w.during).after(retention); fits {
			b.expires.high = max(b.expires.high, extended.high)
		}
		b.ending = false
		w.blobs[ref] = b
		return nil
	}
	return broken("R5.closed-results", "Put answered %s", harness.Describe(result))
}

func lost(ref spi.Reference) error {
	return broken("R4.put", "%q is gone after a Put that answered AlreadyStored with an expiry that had "+
		"come: the payload is lost", ref)
}

// absent takes over that a payload which may be gone is.
func (w *world) absent(ref spi.Reference) error {
	b, ok := w.blobs[ref]
	if !ok {
		return nil
	}
	if b.ending {
		return lost(ref)
	}
	b.expires.high = min(b.expires.high, w.during.After+rounding)
	w.blobs[ref] = b
	return nil
}

// sawBlob judges the answer to a Read.
func (w *world) sawBlob(ref spi.Reference, result spi.BlobReadResult) error {
	b, there := w.there(ref)
	switch a := result.(type) {
	case spi.Missing:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		switch {
		case there == live && len(b.rejected) > 0:
			return broken("R4.put-keeps", "%q is missing after a Put that conflicted", ref)
		case there == live:
			return broken("R4.read", "%q is missing at %d, before it expires at %d", ref, a.StoreNow, b.expires.low+rounding)
		}
		return w.absent(ref)
	case spi.BlobFound:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		told := w.told(a.ExpiresAt)
		switch {
		case there == gone && w.deletedBlobs[ref]:
			return broken("R4.delete", "%q was found although it was deleted", ref)
		case there == gone:
			return broken("R4.read", "%q was found at %d although it is absent or has expired", ref, a.StoreNow)
		case !bytes.Equal(b.bytes, a.Bytes) && b.wasRejected(a.Bytes):
			return broken("R4.put-keeps", "%q holds the payload of a Put that conflicted", ref)
		case !bytes.Equal(b.bytes, a.Bytes):
			return broken("R3.payload-bytes", "%q holds %d bytes that are not the %d bytes stored", ref, len(a.Bytes),
				len(b.bytes))
		case told.high < b.expires.low && len(b.rejected) > 0:
			return broken("R4.put-keeps", "%q expires at %d, earlier than before a Put that conflicted", ref, a.ExpiresAt)
		case told.high < b.expires.low || told.low > b.expires.high:
			return broken("R4.read", "%q expires at %d, not from %d to %d", ref, a.ExpiresAt, b.expires.low, b.expires.high)
		case w.during.Before > told.high:
			return broken("R4.read", "%q was found at %d although it expired at %d, as it says", ref, a.StoreNow, a.ExpiresAt)
		}
		b.expires, b.ending = b.expires.both(told), false
		w.blobs[ref] = b
		return nil
	}
	return broken("R5.closed-results", "Read answered %s", harness.Describe(result))
}

// renewed judges the answer to a Renew.
func (w *world) renewed(ref spi.Reference, retention spi.Retention, result spi.BlobRenewResult) error {
	b, there := w.there(ref)
	switch a := result.(type) {
	case spi.Renewed:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		if there == gone {
			return broken("R4.renew", "Renew answered Renewed although %q is absent or has expired", ref)
		}
		b.expires, b.ending = w.told(a.ExpiresAt), false
		w.blobs[ref] = b
		return w.expiryIs("R4.renew", "R4.retention", a.ExpiresAt, retention)
	case spi.Missing:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		if there == live {
			return broken("R4.renew", "Renew answered Missing although %q holds a payload", ref)
		}
		return w.absent(ref)
	}
	return broken("R5.closed-results", "Renew answered %s", harness.Describe(result))
}

func (w *world) removed(ref spi.Reference) {
	delete(w.blobs, ref)
	w.deletedBlobs[ref] = true
}
