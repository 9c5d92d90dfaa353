package payload

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// memStore is a Relocation Store in memory that keeps a log of its calls. Its
// clock stands still unless a test moves it.
type memStore struct {
	mu    sync.Mutex
	now   spi.Millis
	blobs map[spi.Reference]spi.BlobFound
	log   []string
	fail  map[string]error // by log entry
}

func newMemStore() *memStore {
	return &memStore{now: 1000, blobs: map[spi.Reference]spi.BlobFound{}, fail: map[string]error{}}
}

// begin logs a call and returns the error that it shall answer.
func (m *memStore) begin(call string, ref spi.Reference) error {
	entry := fmt.Sprint(call, " ", ref)
	m.log = append(m.log, entry)
	return m.fail[entry]
}

func (m *memStore) live(ref spi.Reference) (spi.BlobFound, bool) {
	b, ok := m.blobs[ref]
	b.StoreNow = m.now
	return b, ok && b.ExpiresAt > m.now
}

func (m *memStore) Put(_ context.Context, ref spi.Reference, raw []byte, r spi.Retention) (spi.BlobPutResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("put", ref); err != nil {
		return nil, err
	}
	if old, ok := m.live(ref); ok {
		if !bytes.Equal(old.Bytes, raw) {
			return spi.Conflict{StoreNow: m.now}, nil
		}
		return spi.AlreadyStored{ExpiresAt: old.ExpiresAt, StoreNow: m.now}, nil
	}
	at := m.now + spi.Millis(r)
	m.blobs[ref] = spi.BlobFound{Bytes: bytes.Clone(raw), ExpiresAt: at}
	return spi.Stored{ExpiresAt: at, StoreNow: m.now}, nil
}

func (m *memStore) Read(_ context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("read", ref); err != nil {
		return nil, err
	}
	if b, ok := m.live(ref); ok {
		b.Bytes = bytes.Clone(b.Bytes)
		return b, nil
	}
	return spi.Missing{StoreNow: m.now}, nil
}

func (m *memStore) Renew(_ context.Context, ref spi.Reference, r spi.Retention) (spi.BlobRenewResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("renew", ref); err != nil {
		return nil, err
	}
	b, ok := m.live(ref)
	if !ok {
		return spi.Missing{StoreNow: m.now}, nil
	}
	b.ExpiresAt = m.now + spi.Millis(r)
	m.blobs[ref] = b
	return spi.Renewed{ExpiresAt: b.ExpiresAt, StoreNow: m.now}, nil
}

func (m *memStore) Delete(_ context.Context, ref spi.Reference) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("delete", ref); err != nil {
		return err
	}
	delete(m.blobs, ref)
	return nil
}

func (m *memStore) Close() error { return nil }

// calls returns the log and clears it.
func (m *memStore) calls() []string {
	log := slices.Clone(m.log)
	m.log = nil
	return log
}
