package resilience

import (
	"fmt"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// blobMomentCases look at payloads around the millisecond in which they
// expire. Redis keeps a key through that millisecond, and a provider's time
// and Redis's own may differ by one, so that one millisecond to either side of
// the expiry both answers are right; but what an answer promises must be there
// when it is over.
func blobMomentCases() []harness.Case {
	row := func(slug, title, requirements string, op blobMoment) harness.Case {
		return relocationCase("moment/"+slug, title, requirements, func(t *harness.T) {
			aroundExpiry(t,
				strings.Fields(requirements)[0], op)
		})
	}
	return []harness.Case{
		row("blob-read", "A payload is found until the millisecond of its expiry and Missing after it.",
			"R4.read", blobReadAt),
		row("blob-put",
			"The same payload put around the millisecond of its expiry is AlreadyStored while it lives, or stored "+
				"for its whole retention.",
			"R4.put", blobPutAt),
		row("blob-put-other",
			"Another payload put around the millisecond of an expiry is a Conflict or stored for its whole retention.",
			"R4.put R4.put-compare", blobPutOtherAt),
		row("blob-renew",
			"A payload renewed around the millisecond of its expiry lives for its new retention, or Renew says Missing.",
			"R4.renew", blobRenewAt),
		row("blob-delete", "A payload that is deleted around the millisecond of its expiry is Missing at once.",
			"R4.delete", blobDeleteAt),
	}
}

// dyingBlob is a payload and a moment near its expiry.
type dyingBlob struct {
	ref     spi.Reference
	bytes   []byte
	expires spi.Millis
	from    spi.Millis // the moment, from the expiry on
}

func (b dyingBlob) lives() bool  { return b.from < -1 } // more than rounding before the expiry
func (b dyingBlob) gone() bool   { return b.from > 1 }
func (b dyingBlob) when() string { return fmt.Sprintf("%+d ms from the expiry", b.from) }

// blobMoment performs one operation in the moment, judges its answer, and
// returns what must be found from then on, nil if nothing.
type blobMoment func(c *clocked, b dyingBlob) (kept []byte)

func aroundExpiry(t *harness.T, requirement string, op blobMoment) {
	c := openFrozen(t, &relocation)
	blobs := make([]dyingBlob, len(around))
	for i := range blobs {
		b := dyingBlob{ref: spi.Reference(fmt.Sprint("r", i)), bytes: []byte("payload"), from: around[i]}
		c.relocation.MustStore(b.ref, b.bytes, spi.Retention(hour))
		b.expires = c.relocation.MustFind(b.ref).ExpiresAt
		blobs[i] = b
	}
	kept := make([][]byte, len(blobs))
	for i, b := range blobs {
		c.freeze(b.expires + b.from)
		t.Apart(func() {
			if kept[i] = op(c, b); kept[i] != nil {
				mustHold(c, requirement, b, kept[i], "at once")
			}
		})
	}
	c.freeze(blobs[0].expires + 3)
	for i, b := range blobs {
		t.Apart(func() {
			if kept[i] != nil {
				mustHold(c, requirement, b, kept[i], "3 ms after the old expiry")
				return
			}
			c.relocation.MustMiss(b.ref)
		})
	}
}

// mustHold checks that a payload that was stored or renewed in the moment is there.
func mustHold(c *clocked, requirement string, b dyingBlob, want []byte, when string) {
	f, ok := c.relocation.MustRead(b.ref).(spi.BlobFound)
	if !ok {
		c.t.Fatalf(requirement, "the payload that was stored or renewed %s is Missing %s: it is lost", b.when(), when)
	}
	c.t.EqualBytes(requirement, fmt.Sprintf("the payload that was stored or renewed %s, read %s,", b.when(), when), want, f.Bytes)
	c.t.Checkf(f.ExpiresAt >= b.expires+b.from+hour-2, requirement,
		"the payload that was stored or renewed %s for an hour expires at %d, and did at %d before", b.when(), f.ExpiresAt,
		b.expires)
}

func blobReadAt(c *clocked, b dyingBlob) []byte {
	switch r := c.relocation.MustRead(b.ref).(type) {
	case spi.BlobFound:
		c.t.Checkf(!b.gone(), "R4.read", "Read answered Found %s", b.when())
		c.t.EqualBytes("R4.read", "the payload "+b.when(), b.bytes, r.Bytes)
		c.t.Near("R4.read", "expiresAt "+b.when(), b.expires, r.ExpiresAt, 1)
	case spi.Missing:
		c.t.Checkf(!b.lives(), "R4.read", "Read answered Missing %s", b.when())
	}
	return nil
}

func blobPutAt(c *clocked, b dyingBlob) []byte {
	switch r := c.relocation.MustPut(b.ref, b.bytes, spi.Retention(hour)).(type) {
	case spi.Stored:
		c.t.Checkf(!b.lives(), "R4.put", "Put of the same bytes answered Stored %s", b.when())
		return b.bytes
	case spi.AlreadyStored:
		c.t.Checkf(!b.gone(), "R4.put", "Put answered AlreadyStored %s", b.when())
		c.t.Checkf(r.ExpiresAt > r.StoreNow, "R4.put",
			"Put answered AlreadyStored %s with expiresAt %d at StoreNow %d: the payload is lost", b.when(), r.ExpiresAt,
			r.StoreNow)
		if r.ExpiresAt > b.expires+1 {
			return b.bytes // extended, which only an advisory forbids
		}
	case spi.Conflict:
		c.t.Failf("R4.put", "Put of the same bytes answered Conflict %s", b.when())
	}
	return nil
}

func blobPutOtherAt(c *clocked, b dyingBlob) []byte {
	other := []byte("other")
	switch c.relocation.MustPut(b.ref, other, spi.Retention(hour)).(type) {
	case spi.Stored:
		c.t.Checkf(!b.lives(), "R4.put", "Put of other bytes answered Stored %s", b.when())
		return other
	case spi.AlreadyStored:
		c.t.Failf("R4.put-compare", "Put of other bytes answered AlreadyStored %s", b.when())
	case spi.Conflict:
		c.t.Checkf(!b.gone(), "R4.put", "Put answered Conflict %s", b.when())
	}
	return nil
}

func blobRenewAt(c *clocked, b dyingBlob) []byte {
	res, err := c.relocation.Renew(c.t.Context(), b.ref, spi.Retention(hour))
	if err != nil {
		c.t.Fatalf("R4.renew", "Renew failed %s: %v", b.when(), err)
	}
	switch r := res.(type) {
	case spi.Renewed:
		c.t.Checkf(!b.gone(), "R4.renew", "Renew answered Renewed %s", b.when())
		c.t.Near("R4.renew", "expiresAt of Renewed", r.StoreNow+hour, r.ExpiresAt, 1)
		return b.bytes
	case spi.Missing:
		c.t.Checkf(!b.lives(), "R4.renew", "Renew answered Missing %s", b.when())
	}
	return nil
}

func blobDeleteAt(c *clocked, b dyingBlob) []byte {
	c.relocation.MustDelete(b.ref)
	c.relocation.MustMiss(b.ref)
	return nil
}
