package model

import (
	"bytes"
	"slices"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// blob is a payload that was stored and not deleted. Its expiry lies between
// low and high, as far as brackets of Redis's clock and what an advisory allows
// (R4.put-retention) leave it open.
type blob struct {
	bytes     []byte
	low, high spi.Millis
	rejected  [][]byte // payloads that conflicted with it
}

// presence is what the model knows of a payload at an operation.
type presence int

const (
	gone presence = iota
	open          // it may expire at that very time: either answer is right
	held
)

// at is whether the payload is there during an operation. Redis keeps a key
// through the millisecond of its expiry.
func (b blob) at(during harness.Bracket) presence {
	switch {
	case during.After < b.low:
		return held
	case during.Before > b.high:
		return gone
	}
	return open
}

func (b blob) wasRejected(payload []byte) bool {
	return slices.ContainsFunc(b.rejected, func(r []byte) bool { return bytes.Equal(r, payload) })
}

// told narrows the expiry to what an answer said, which may have added the
// remaining time to a time of its own.
func (b blob) told(expires spi.Millis, during harness.Bracket) blob {
	width := during.After - during.Before
	b.low, b.high = max(b.low, expires-width-slack), min(b.high, expires+width+slack)
	return b
}

// there answers the blob and whether it is there during an operation.
func (w *world) there(ref spi.Reference, during harness.Bracket) (blob, presence) {
	b, ok := w.blobs[ref]
	if !ok {
		return b, gone
	}
	return b, b.at(during)
}

// within checks the store time of an operation on payloads.
func (w *world) within(during harness.Bracket, now spi.Millis) error {
	if low, high := during.Now(); now < low || now > high {
		return broken("R3.store-now", "the store time is %d, while the store's clock went from %d to %d", now, during.Before, during.After)
	}
	w.now = max(w.now, now)
	return nil
}

// leased takes over the retention that a Put or Renew gave, and judges the
// expiry that it answered.
func (w *world) leased(
	requirement string, ref spi.Reference, b blob, retention spi.Retention, during harness.Bracket, told spi.Millis,
) error {
	b.low, b.high = during.Expiry(retention)
	w.blobs[ref] = b
	if told < b.low || told > b.high {
		return broken(requirement, "expiresAt is %d, not %v ms after a time of the store's clock between %d and %d",
			told, float64(retention), during.Before, during.After)
	}
	w.blobs[ref] = b.told(told, during)
	return nil
}

// stored judges the answer to a Put.
func (w *world) stored(
	ref spi.Reference, payload []byte, retention spi.Retention, result spi.BlobPutResult, during harness.Bracket,
) error {
	b, is := w.there(ref, during)
	_, later := during.Expiry(retention)
	width := during.After - during.Before
	switch a := result.(type) {
	case spi.Stored:
		if err := w.within(during, a.StoreNow); err != nil {
			return err
		}
		if is == held {
			return broken("R4.put", "Put answered Stored although %q holds a payload", ref)
		}
		delete(w.deletedBlobs, ref)
		return w.leased("R3.expiry-clock", ref, blob{bytes: payload}, retention, during, a.ExpiresAt)
	case spi.AlreadyStored:
		if err := w.within(during, a.StoreNow); err != nil {
			return err
		}
		switch {
		case is == gone:
			return broken("R4.put", "Put answered AlreadyStored although %q is free", ref)
		case !bytes.Equal(b.bytes, payload) && b.wasRejected(payload):
			return broken("R4.put-keeps", "Put answered AlreadyStored for bytes with which an earlier Put of %q conflicted", ref)
		case !bytes.Equal(b.bytes, payload):
			return broken("R4.put-compare", "Put answered AlreadyStored although %q holds other bytes", ref)
		case a.ExpiresAt < b.low-width:
			return broken("R4.put-keeps", "a repeated Put of %q shortened its retention by %d ms", ref, b.low-a.ExpiresAt)
		case a.ExpiresAt > max(b.high, later)+width:
			return broken("R4.put", "AlreadyStored of %q carries the expiry %d, which no Put or Renew gave", ref, a.ExpiresAt)
		}
		b.high = max(b.high, later)
		w.blobs[ref] = b.told(a.ExpiresAt, during)
		return nil
	case spi.Conflict:
		if err := w.within(during, a.StoreNow); err != nil {
			return err
		}
		switch {
		case is == gone:
			return broken("R4.put", "Put answered Conflict although %q is free", ref)
		case bytes.Equal(b.bytes, payload) && len(b.rejected) > 0:
			return broken("R4.put-keeps", "%q no longer holds its bytes after a Put that conflicted", ref)
		case bytes.Equal(b.bytes, payload):
			return broken("R4.put", "Put answered Conflict although %q holds the same bytes", ref)
		}
		b.rejected = append(b.rejected, payload)
		b.high = max(b.high, later)
		w.blobs[ref] = b
		return nil
	}
	return broken("R5.closed-results", "Put answered %s", harness.Describe(result))
}

// sawBlob judges the answer to a Read.
func (w *world) sawBlob(ref spi.Reference, result spi.BlobReadResult, during harness.Bracket) error {
	b, is := w.there(ref, during)
	width := during.After - during.Before
	switch a := result.(type) {
	case spi.Missing:
		if err := w.within(during, a.StoreNow); err != nil {
			return err
		}
		switch {
		case is == held && len(b.rejected) > 0:
			return broken("R4.put-keeps", "%q is missing after a Put that conflicted", ref)
		case is == held:
			return broken("R4.read", "%q is missing at %d, before it expires at %d", ref, a.StoreNow, b.low)
		}
		delete(w.blobs, ref)
		return nil
	case spi.BlobFound:
		if err := w.within(during, a.StoreNow); err != nil {
			return err
		}
		switch {
		case is == gone && w.deletedBlobs[ref]:
			return broken("R4.delete", "%q was found although it was deleted", ref)
		case is == gone:
			return broken("R4.read", "%q was found at %d although it is absent or has expired", ref, a.StoreNow)
		case !bytes.Equal(b.bytes, a.Bytes) && b.wasRejected(a.Bytes):
			return broken("R4.put-keeps", "%q holds the payload of a Put that conflicted", ref)
		case !bytes.Equal(b.bytes, a.Bytes):
			return broken("R3.payload-bytes", "%q holds %d bytes that are not the %d bytes stored", ref, len(a.Bytes), len(b.bytes))
		case a.ExpiresAt < b.low-width && len(b.rejected) > 0:
			return broken("R4.put-keeps", "%q expires at %d, earlier than before a Put that conflicted", ref, a.ExpiresAt)
		case a.ExpiresAt < b.low-width || a.ExpiresAt > b.high+width:
			return broken("R4.read", "%q expires at %d, not between %d and %d", ref, a.ExpiresAt, b.low, b.high)
		}
		w.blobs[ref] = b.told(a.ExpiresAt, during)
		return nil
	}
	return broken("R5.closed-results", "Read answered %s", harness.Describe(result))
}

// renewed judges the answer to a Renew.
func (w *world) renewed(ref spi.Reference, retention spi.Retention, result spi.BlobRenewResult, during harness.Bracket) error {
	b, is := w.there(ref, during)
	switch a := result.(type) {
	case spi.Renewed:
		if err := w.within(during, a.StoreNow); err != nil {
			return err
		}
		if is == gone {
			return broken("R4.renew", "Renew answered Renewed although %q is absent or has expired", ref)
		}
		return w.leased("R4.renew", ref, b, retention, during, a.ExpiresAt)
	case spi.Missing:
		if err := w.within(during, a.StoreNow); err != nil {
			return err
		}
		if is == held {
			return broken("R4.renew", "Renew answered Missing although %q holds a payload", ref)
		}
		delete(w.blobs, ref)
		return nil
	}
	return broken("R5.closed-results", "Renew answered %s", harness.Describe(result))
}

func (w *world) removed(ref spi.Reference) {
	delete(w.blobs, ref)
	w.deletedBlobs[ref] = true
}
