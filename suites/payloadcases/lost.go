package payloadcases

import (
	"encoding/binary"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/reference/payload"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// lostCases: a payload is whole or lost (P3.data-lost), and a lost one is not
// kept alive (P3.renew).
func lostCases() []harness.Case {
	var cases []harness.Case
	for _, d := range damages {
		cases = append(cases, relocationCase("lost/"+d.slug,
			d.title+" makes the whole payload DataLost, and renewing extends no part of it.",
			"P3.data-lost P3.renew", func(t *harness.T) { damaged(t, d) }))
	}
	return append(cases, relocationCase("lost/behind-the-target",
		"What was read before and then removed, altered, truncated or swapped in Redis itself is DataLost on the next read.",
		"P3.data-lost P3.frame R8.key R8.string", damagedInRedis, harness.NeedLayout))
}

// damage is done to a payload "p" of three chunks through the store.
type damage struct {
	slug, title string
	do          func(p stored)
	order       int // of the chunk that is lost
	reason      payload.Reason
}

var damages = []damage{
	{"missing-chunk", "A chunk that is missing", func(p stored) { p.MustDelete(chunk("p", 1)) }, 1, payload.Absent},
	{"expired-chunk", "A chunk that has expired", func(p stored) {
		const brief = 60
		p.replace(chunk("p", 2), frame(p.t, 2, p.part(2)), brief)
		awaitTime(p.t, p.t.Now()+brief+late)
	}, 2, payload.Absent},
	{"swapped-chunks", "Two chunks in each other's place", func(p stored) {
		p.replace(chunk("p", 0), frame(p.t, 1, p.part(1)), hour)
		p.replace(chunk("p", 1), frame(p.t, 0, p.part(0)), hour)
	}, 0, payload.Misplaced},
	{"truncated-chunk", "A chunk that lacks its last byte", func(p stored) {
		raw := frame(p.t, 1, p.part(1))
		p.replace(chunk("p", 1), raw[:len(raw)-1], hour)
	}, 1, payload.Damaged},
	{"longer-chunk", "A chunk with one byte too many", func(p stored) {
		p.replace(chunk("p", 1), append(frame(p.t, 1, p.part(1)), 0), hour)
	}, 1, payload.Damaged},
	{"empty-chunk", "A chunk of no bytes at all", func(p stored) { p.replace(chunk("p", 0), nil, hour) }, 0, payload.Damaged},
	{"altered-chunk", "A chunk with one altered bit", func(p stored) {
		raw := frame(p.t, 1, p.part(1))
		raw[len(raw)/2] ^= 1
		p.replace(chunk("p", 1), raw, hour)
	}, 1, payload.Damaged},
	{"other-chunk", "A whole chunk of another payload in the same place", func(p stored) {
		p.replace(chunk("p", 2), frame(p.t, 2, p.t.RandomBytes(len(p.part(2)))), hour)
	}, 2, payload.Different},
	{"missing-index", "An index that is missing", func(p stored) { p.MustDelete(index("p")) }, payload.IndexLost, payload.Absent},
	{"altered-index", "An index with one altered bit", func(p stored) {
		raw := p.index()
		raw[len(raw)-10] ^= 1
		p.replace(index("p"), raw, hour)
	}, payload.IndexLost, payload.Damaged},
	{"wrong-total", "An index whose total length is one too many", func(p stored) {
		const totalLength = 12 // its offset in the index
		raw := p.index()
		body := raw[:len(raw)-4]
		binary.BigEndian.PutUint64(body[totalLength:], uint64(len(p.data))+1)
		p.replace(index("p"), binary.BigEndian.AppendUint32(body, payload.Checksum(body)), hour)
	}, payload.IndexLost, payload.Damaged},
}

// stored is the payload "p" that is going to be damaged.
type stored struct {
	t *harness.T
	*harness.Relocation
	data []byte
	x    payload.Index
}

func (p stored) part(order int) []byte {
	return p.data[order*chunkSize : min(len(p.data), (order+1)*chunkSize)]
}

func (p stored) index() []byte {
	raw, err := payload.EncodeIndex(p.x)
	if err != nil {
		p.t.Troublef("the index could not be encoded: %v", err)
	}
	return raw
}

func (p stored) replace(ref spi.Reference, raw []byte, retention spi.Millis) {
	p.MustDelete(ref)
	p.MustStore(ref, raw, spi.Retention(retention))
}

func damaged(t *harness.T, d damage) {
	f := onTarget(t).keeping(hour)
	data := t.RandomBytes(2*chunkSize + 20)
	p := stored{t, t.Relocation(), data, f.put("P3.data-lost", "p", data)}
	f.whole("P3.data-lost", "p", data)
	d.do(p)
	before := expiries(t, all("p", p.x))
	_, err := f.Join(t.Context(), index("p"), io.Discard)
	f.lost("joining", err, d.order, d.reason)
	f.lost("renewing", f.keeping(day).Renew(t.Context(), index("p")), d.order, d.reason)
	for ref, at := range expiries(t, all("p", p.x)) {
		const less = spi.Millis(23 * 3600_000) // than what an extension adds
		t.Checkf(at < before[ref]+less, "P3.renew", "renewing a lost payload moved the expiry of %q from %d to %d", ref,
			before[ref], at)
	}
}

// expiries are those of the references that are there.
func expiries(t *harness.T, refs []spi.Reference) map[spi.Reference]spi.Millis {
	at := map[spi.Reference]spi.Millis{}
	for _, ref := range refs {
		if found, ok := t.Relocation().MustRead(ref).(spi.BlobFound); ok {
			at[ref] = found.ExpiresAt
		}
	}
	return at
}

func damagedInRedis(t *harness.T) {
	f := onTarget(t)
	ctx, client := t.Context(), t.Redis()
	physical := func(name string, order int) string { return layout.BlobKey(t.KeyPrefix(), string(chunk(name, order))) }
	set := func(key string, value []byte) error {
		return client.SetArgs(ctx, key, value, redis.SetArgs{TTL: time.Hour}).Err()
	}
	for _, row := range []struct {
		name   string
		do     func(name string, frames [][]byte) error
		order  int
		reason payload.Reason
	}{
		{"removed", func(name string, _ [][]byte) error { return client.Del(ctx, physical(name, 1)).Err() }, 1, payload.Absent},
		{"altered", func(name string, frames [][]byte) error {
			return client.SetRange(ctx, physical(name, 2), 30, string(frames[2][30]^1)).Err()
		}, 2, payload.Damaged},
		{"truncated", func(name string, frames [][]byte) error {
			return set(physical(name, 0), frames[0][:len(frames[0])-1])
		}, 0, payload.Damaged},
		{"swapped", func(name string, frames [][]byte) error {
			if err := set(physical(name, 1), frames[2]); err != nil {
				return err
			}
			return set(physical(name, 2), frames[1])
		}, 1, payload.Misplaced},
	} {
		data := t.RandomBytes(3 * chunkSize)
		f.put("P3.data-lost", row.name, data)
		f.whole("P3.data-lost", row.name, data)
		var frames [][]byte
		for order := range 3 {
			frames = append(frames, frame(t, order, data[order*chunkSize:(order+1)*chunkSize]))
			t.EqualBytes("P3.frame", "a chunk in Redis", frames[order], raw.On(t).Blob(chunk(row.name, order)))
		}
		if err := row.do(row.name, frames); err != nil {
			t.Troublef("a chunk could not be %s in Redis: %v", row.name, err)
		}
		_, err := f.Join(ctx, index(row.name), io.Discard)
		f.lost("joining a payload with a chunk that was "+row.name, err, row.order, row.reason)
	}
}
