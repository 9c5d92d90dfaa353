package model

import (
	"bytes"
	"slices"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// blob is a payload that was stored and not deleted. It is there before low
// and gone from high on; between the two, rounding and what an advisory
// allows (R4.put-retention) decide.
type blob struct {
	bytes     []byte
	low, high spi.Millis
	rejected  [][]byte // payloads that conflicted with it
	extended  bool     // a repeated Put may have extended it
}

func (b blob) live(now spi.Millis) (bool, error) {
	switch {
	case now < b.low:
		return true, nil
	case now >= b.high:
		return false, nil
	}
	return false, errUnclear
}

func (b blob) wasRejected(payload []byte) bool {
	return slices.ContainsFunc(b.rejected, func(r []byte) bool { return bytes.Equal(r, payload) })
}

// until sets the expiry that an answer gave.
func (b blob) until(expires spi.Millis) blob {
	b.low, b.high, b.extended = expires-slack, expires+slack, false
	return b
}

// there answers the blob and whether it is live at now.
func (w *world) there(ref spi.Reference, now spi.Millis) (blob, bool, error) {
	b, ok := w.blobs[ref]
	if !ok {
		return b, false, nil
	}
	live, err := b.live(now)
	return b, live, err
}

func expiryIs(requirement string, now, got spi.Millis, retention spi.Retention) error {
	want := now + spi.Millis(retention)
	if got < want-slack || got > want+slack {
		return broken(requirement, "expiresAt is %d, not the store time %d plus %v ms", got, now, float64(retention))
	}
	return nil
}

// stored judges the answer to a Put.
func (w *world) stored(ref spi.Reference, payload []byte, retention spi.Retention, result spi.BlobPutResult) error {
	switch a := result.(type) {
	case spi.Stored:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		if _, live, err := w.there(ref, a.StoreNow); err != nil {
			return err
		} else if live {
			return broken("R4.put", "Put answered Stored although %q holds a payload", ref)
		}
		w.blobs[ref] = blob{bytes: payload}.until(a.ExpiresAt)
		delete(w.deletedBlobs, ref)
		return expiryIs("R3.expiry-clock", a.StoreNow, a.ExpiresAt, retention)
	case spi.AlreadyStored:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		b, live, err := w.there(ref, a.StoreNow)
		switch {
		case err != nil:
			return err
		case !live:
			return broken("R4.put", "Put answered AlreadyStored although %q is free", ref)
		case !bytes.Equal(b.bytes, payload) && b.wasRejected(payload):
			return broken("R4.put-keeps", "Put answered AlreadyStored for bytes with which an earlier Put of %q conflicted", ref)
		case !bytes.Equal(b.bytes, payload):
			return broken("R4.put-compare", "Put answered AlreadyStored although %q holds other bytes", ref)
		case a.ExpiresAt < b.low:
			return broken("R4.put-keeps", "a repeated Put of %q shortened its retention by %d ms", ref, b.low-a.ExpiresAt)
		case a.ExpiresAt > max(b.high, a.StoreNow+spi.Millis(retention)+slack):
			return broken("R4.put", "AlreadyStored of %q carries the expiry %d, which no Put or Renew gave", ref, a.ExpiresAt)
		}
		w.blobs[ref] = b.until(a.ExpiresAt)
		return nil
	case spi.Conflict:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		b, live, err := w.there(ref, a.StoreNow)
		switch {
		case err != nil:
			return err
		case !live:
			return broken("R4.put", "Put answered Conflict although %q is free", ref)
		case bytes.Equal(b.bytes, payload) && len(b.rejected) > 0:
			return broken("R4.put-keeps", "%q no longer holds its bytes after a Put that conflicted", ref)
		case bytes.Equal(b.bytes, payload):
			return broken("R4.put", "Put answered Conflict although %q holds the same bytes", ref)
		}
		b.rejected = append(b.rejected, payload)
		if later := a.StoreNow + spi.Millis(retention) + slack; later > b.high {
			b.high, b.extended = later, true
		}
		w.blobs[ref] = b
		return nil
	}
	return broken("R5.closed-results", "Put answered %s", harness.Describe(result))
}

// sawBlob judges the answer to a Read.
func (w *world) sawBlob(ref spi.Reference, result spi.BlobReadResult) error {
	switch a := result.(type) {
	case spi.Missing:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		b, live, err := w.there(ref, a.StoreNow)
		switch {
		case err != nil && b.extended: // whether it was extended is open
			delete(w.blobs, ref)
			return nil
		case err != nil:
			return err
		case live && len(b.rejected) > 0:
			return broken("R4.put-keeps", "%q is missing after a Put that conflicted", ref)
		case live:
			return broken("R4.read", "%q is missing at %d, before it expires at %d", ref, a.StoreNow, b.low+slack)
		}
		return nil
	case spi.BlobFound:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		b, live, err := w.there(ref, a.StoreNow)
		if err != nil && b.extended {
			live, err = true, nil
		}
		if err != nil {
			return err
		}
		switch {
		case !live && w.deletedBlobs[ref]:
			return broken("R4.delete", "%q was found although it was deleted", ref)
		case !live:
			return broken("R4.read", "%q was found at %d although it is absent or has expired", ref, a.StoreNow)
		case !bytes.Equal(b.bytes, a.Bytes) && b.wasRejected(a.Bytes):
			return broken("R4.put-keeps", "%q holds the payload of a Put that conflicted", ref)
		case !bytes.Equal(b.bytes, a.Bytes):
			return broken("R3.payload-bytes", "%q holds %d bytes that are not the %d bytes stored", ref, len(a.Bytes), len(b.bytes))
		case a.ExpiresAt < b.low && len(b.rejected) > 0:
			return broken("R4.put-keeps", "%q expires at %d, earlier than before a Put that conflicted", ref, a.ExpiresAt)
		case a.ExpiresAt < b.low || a.ExpiresAt > b.high:
			return broken("R4.read", "%q expires at %d, not at %d", ref, a.ExpiresAt, b.low+slack)
		}
		w.blobs[ref] = b.until(a.ExpiresAt)
		return nil
	}
	return broken("R5.closed-results", "Read answered %s", harness.Describe(result))
}

// renewed judges the answer to a Renew.
func (w *world) renewed(ref spi.Reference, retention spi.Retention, result spi.BlobRenewResult) error {
	switch a := result.(type) {
	case spi.Renewed:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		b, live, err := w.there(ref, a.StoreNow)
		if err != nil && !b.extended {
			return err
		}
		if !live && err == nil {
			return broken("R4.renew", "Renew answered Renewed although %q is absent or has expired", ref)
		}
		w.blobs[ref] = b.until(a.ExpiresAt)
		return expiryIs("R4.renew", a.StoreNow, a.ExpiresAt, retention)
	case spi.Missing:
		if err := w.tick("R3.store-now", a.StoreNow); err != nil {
			return err
		}
		b, live, err := w.there(ref, a.StoreNow)
		if err != nil && b.extended {
			delete(w.blobs, ref)
			return nil
		}
		if live {
			return broken("R4.renew", "Renew answered Missing although %q holds a payload", ref)
		}
		return err
	}
	return broken("R5.closed-results", "Renew answered %s", harness.Describe(result))
}

func (w *world) removed(ref spi.Reference) {
	delete(w.blobs, ref)
	w.deletedBlobs[ref] = true
}
