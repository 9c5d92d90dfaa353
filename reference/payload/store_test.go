package payload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink-systems/zlink-conformance/spi"
)

const (
	hour = spi.Millis(60 * 60 * 1000)
	text = "0123456789" // three chunks of 4, 4 and 2 bytes
)

func plan(length int64) Plan {
	return Plan{Index: "index", Length: length, Chunk: func(order int) spi.Reference {
		return spi.Reference(fmt.Sprint("c", order))
	}}
}

// stored returns a store that holds text.
func stored(t *testing.T) (Store, *memStore) {
	t.Helper()
	m := newMemStore()
	s := Store{Blobs: m, ChunkSize: 4}
	if _, err := s.Put(context.Background(), plan(10), strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return s, m
}

func TestPutOrder(t *testing.T) {
	_, m := stored(t)
	want := []string{"put c0", "read c0", "put c1", "read c1", "put c2", "read c2", "put index", "read index"}
	if diff := cmp.Diff(want, m.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	for ref, b := range m.blobs {
		if b.ExpiresAt != 1000+24*hour {
			t.Errorf("%s expires at %d, want 24 h after storing", ref, b.ExpiresAt)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, length := range []int{0, 1, 3, 4, 5, 8, 1000} {
		m := newMemStore()
		s := Store{Blobs: m, ChunkSize: 4}
		data := bytes.Repeat([]byte("abcdefg"), 200)[:length]
		put, err := s.Put(context.Background(), plan(int64(length)), iotest.OneByteReader(bytes.NewReader(data)))
		if err != nil {
			t.Fatalf("%d bytes: %v", length, err)
		}
		var out bytes.Buffer
		joined, err := s.Join(context.Background(), "index", &out)
		if err != nil || !bytes.Equal(out.Bytes(), data) {
			t.Errorf("%d bytes: joined %q, %v", length, out.Bytes(), err)
		}
		if diff := cmp.Diff(put, joined); diff != "" {
			t.Errorf("%d bytes: index (-put +joined):\n%s", length, diff)
		}
		if want := max((length+3)/4, 1); len(m.blobs) != want+1 {
			t.Errorf("%d bytes: %d blobs, want %d chunks and the index", length, len(m.blobs), want)
		}
	}
}

func TestPutBoundsBeforeIO(t *testing.T) {
	refs := func(ref spi.Reference) Plan {
		p := plan(10)
		p.Chunk = func(int) spi.Reference { return ref }
		return p
	}
	long := plan(10)
	long.Index = spi.Reference(strings.Repeat("r", 4097))
	for name, tt := range map[string]struct {
		plan      Plan
		chunkSize int
	}{
		"negative length":    {plan(-1), 4},
		"256 GiB and 1":      {plan(256<<30 + 1), 0},
		"4097 chunks":        {plan(4096*4 + 1), 4},
		"chunk size 64M + 1": {plan(1), 64<<20 + 1},
		"negative size":      {plan(1), -1},
		"same reference":     {refs("c"), 4},
		"empty reference":    {refs(""), 4},
		"index reference":    {refs("index"), 16},
		"4097 bytes":         {long, 4},
	} {
		m := newMemStore()
		_, err := Store{Blobs: m, ChunkSize: tt.chunkSize}.Put(context.Background(), tt.plan,
			iotest.ErrReader(errors.New("was read")))
		if spi.KindOf(err) != spi.KindArgument || len(m.log) > 0 {
			t.Errorf("%s: %v after %v, want an argument error before any I/O", name, err, m.log)
		}
	}
	for length, want := range map[int64]int{0: 1, 1: 1, 64 << 20: 1, 64<<20 + 1: 2, 256 << 30: 4096} {
		if n, err := ChunkCount(length, 64<<20); err != nil || n != want {
			t.Errorf("%d bytes: %d chunks, %v; want %d", length, n, err, want)
		}
	}
}

func TestPutWithoutIndexAfterAFailure(t *testing.T) {
	failure := &spi.Error{Kind: spi.KindStoreFailure}
	for _, call := range []string{"put c1", "read c1", "put index"} {
		m := newMemStore()
		m.fail[call] = failure
		_, err := Store{Blobs: m, ChunkSize: 4}.Put(context.Background(), plan(10), strings.NewReader(text))
		if !errors.Is(err, failure) {
			t.Errorf("%s fails: got %v", call, err)
		}
		if _, ok := m.blobs["index"]; ok || m.log[len(m.log)-1] != call {
			t.Errorf("%s fails: index stored %v, calls %v", call, ok, m.log)
		}
	}
	for name, src := range map[string]io.Reader{
		"short": strings.NewReader(text[:9]), "long": strings.NewReader(text + "x"), "broken": iotest.ErrReader(io.ErrClosedPipe),
	} {
		m := newMemStore()
		_, err := Store{Blobs: m, ChunkSize: 4}.Put(context.Background(), plan(10), src)
		if _, ok := m.blobs["index"]; ok || err == nil {
			t.Errorf("%s source: %v, index stored %v", name, err, ok)
		}
	}
	m := newMemStore()
	m.blobs["c1"] = spi.BlobFound{Bytes: []byte("other"), ExpiresAt: 2000}
	if _, err := (Store{Blobs: m, ChunkSize: 4}).Put(context.Background(), plan(10), strings.NewReader(text)); !errors.Is(err,
		ErrReferenceTaken) {
		t.Errorf("taken reference: %v", err)
	}
}

func TestPutAgain(t *testing.T) {
	s, m := stored(t)
	delete(m.blobs, "index") // as if it had failed before the index
	m.now += 20 * hour
	if _, err := s.Put(context.Background(), plan(10), strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	for ref, b := range m.blobs {
		if b.ExpiresAt != m.now+24*hour {
			t.Errorf("%s expires at %d, want 24 h after the second attempt", ref, b.ExpiresAt)
		}
	}
}

func TestDataLost(t *testing.T) {
	edit := func(ref spi.Reference, f func([]byte) []byte) func(*memStore) {
		return func(m *memStore) {
			b := m.blobs[ref]
			b.Bytes = f(bytes.Clone(b.Bytes))
			m.blobs[ref] = b
		}
	}
	other := func(order uint32, data string) func([]byte) []byte {
		return func([]byte) []byte { raw, _ := EncodeFrame(order, []byte(data)); return raw }
	}
	tests := []struct {
		name   string
		damage func(*memStore)
		chunk  int
		reason Reason
	}{
		{"missing chunk", func(m *memStore) { delete(m.blobs, "c1") }, 1, Absent},
		{"expired chunk", func(m *memStore) { b := m.blobs["c2"]; b.ExpiresAt = m.now; m.blobs["c2"] = b }, 2, Absent},
		{"swapped chunks", func(m *memStore) { m.blobs["c0"], m.blobs["c1"] = m.blobs["c1"], m.blobs["c0"] }, 0, Misplaced},
		{"truncated chunk", edit("c1", func(b []byte) []byte { return b[:len(b)-1] }), 1, Damaged},
		{"altered chunk", edit("c2", func(b []byte) []byte { b[19] ^= 1; return b }), 2, Damaged},
		{"other bytes, whole frame", edit("c1", other(1, "xxxx")), 1, Different},
		{"other length, whole frame", edit("c1", other(1, "456")), 1, Different},
		{"missing index", func(m *memStore) { delete(m.blobs, "index") }, IndexLost, Absent},
		{"altered index", edit("index", func(b []byte) []byte { b[40] ^= 1; return b }), IndexLost, Damaged},
		{"wrong total checksum", edit("index", func(b []byte) []byte { return resealed(b, set(20, ^b[20])) }), IndexLost,
			Damaged},
		{"a chunk as the index", func(m *memStore) { m.blobs["index"] = m.blobs["c0"] }, IndexLost, Damaged},
		{"chunks of another size", func(m *memStore) {
			small := Store{Blobs: newMemStore(), ChunkSize: 5}
			small.Put(context.Background(), plan(10), strings.NewReader(text))
			m.blobs = small.Blobs.(*memStore).blobs
		}, IndexLost, Oversized},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, m := stored(t)
			tt.damage(m)
			m.calls()
			_, err := s.Join(context.Background(), "index", io.Discard)
			checkLost(t, "join", err, tt.chunk, tt.reason)
			m.calls()
			checkLost(t, "renew", s.Renew(context.Background(), "index"), tt.chunk, tt.reason)
			for _, call := range m.calls() {
				if strings.HasPrefix(call, "renew") {
					t.Errorf("%s although the payload is lost", call)
				}
			}
		})
	}
}

func checkLost(t *testing.T, what string, err error, chunk int, reason Reason) {
	t.Helper()
	var lost *DataLost
	if !errors.As(err, &lost) || lost.Chunk != chunk || lost.Reason != reason {
		t.Errorf("%s: got %v, want data lost in chunk %d: %s", what, err, chunk, reason)
	}
}

func TestStoreFailureIsNoDataLost(t *testing.T) {
	s, m := stored(t)
	m.fail["read c1"] = &spi.Error{Kind: spi.KindTimeout}
	_, err := s.Join(context.Background(), "index", io.Discard)
	var lost *DataLost
	if spi.KindOf(err) != spi.KindTimeout || errors.As(err, &lost) {
		t.Errorf("got %v, want the timeout", err)
	}
}

func TestRenew(t *testing.T) {
	s, m := stored(t)
	m.calls()
	m.now += 12*hour - 1
	if renewed, err := s.RenewDue(context.Background(), "index"); renewed || err != nil {
		t.Errorf("12 h and 1 ms left: renewed %v, %v", renewed, err)
	}
	m.now++
	m.calls()
	if renewed, err := s.RenewDue(context.Background(), "index"); !renewed || err != nil {
		t.Errorf("12 h left: renewed %v, %v", renewed, err)
	}
	want := []string{"read index", "read index", "read c0", "read c1", "read c2", "renew c0", "renew c1", "renew c2",
		"renew index"}
	if diff := cmp.Diff(want, m.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	for ref, b := range m.blobs {
		if b.ExpiresAt != m.now+24*hour {
			t.Errorf("%s expires at %d", ref, b.ExpiresAt)
		}
	}
	m.fail["renew c1"] = &spi.Error{Kind: spi.KindStoreFailure}
	m.calls()
	if err := s.Renew(context.Background(), "index"); spi.KindOf(err) != spi.KindStoreFailure {
		t.Errorf("failing renewal: %v", err)
	}
	if calls := m.calls(); calls[len(calls)-1] != "renew c1" {
		t.Errorf("went on after a failed renewal: %v", calls)
	}
}

func TestDelete(t *testing.T) {
	s, m := stored(t)
	m.calls()
	for range 2 {
		if err := s.Delete(context.Background(), "index"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"read index", "delete index", "delete c0", "delete c1", "delete c2", "read index", "delete index"}
	if diff := cmp.Diff(want, m.calls()); diff != "" || len(m.blobs) > 0 {
		t.Errorf("%d blobs left, calls (-want +got):\n%s", len(m.blobs), diff)
	}
	s, m = stored(t)
	m.fail["read index"] = &spi.Error{Kind: spi.KindTimeout}
	if err := s.Delete(context.Background(), "index"); spi.KindOf(err) != spi.KindTimeout || len(m.blobs) != 4 {
		t.Errorf("unreadable store: %v, %d blobs left", err, len(m.blobs))
	}
}
