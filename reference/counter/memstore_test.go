package counter

import (
	"context"
	"fmt"
	"sync"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// memStore is a Location Store in memory, without expiry and scans.
type memStore struct {
	mu     sync.Mutex
	rows   map[spi.Key]spi.Value
	issued int
	writes int
	before func() // runs before each write, outside the lock
	fail   error  // what the next write answers
}

func newMemStore(rows map[spi.Key]string) *memStore {
	m := &memStore{rows: map[spi.Key]spi.Value{}}
	for k, v := range rows {
		m.put(k, []byte(v))
	}
	return m
}

func (m *memStore) put(k spi.Key, b []byte) {
	m.issued++
	m.rows[k] = spi.Value{Bytes: b, Version: spi.Version(fmt.Sprint("v", m.issued))}
}

func (m *memStore) text(k spi.Key) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.rows[k].Bytes)
}

func (m *memStore) Read(_ context.Context, k spi.Key) (spi.ReadResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.rows[k]; ok {
		return spi.Found{Value: v}, nil
	}
	return spi.Missing{}, nil
}

func (m *memStore) Write(_ context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
	if m.before != nil {
		m.before()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	if m.fail != nil {
		return nil, m.fail
	}
	for _, c := range w.Conditions {
		v, live := m.rows[c.ConditionKey()]
		switch c := c.(type) {
		case spi.MissingCondition:
			if live {
				return spi.Conflict{}, nil
			}
		case spi.VersionCondition:
			if !live || v.Version != c.Expected {
				return spi.Conflict{}, nil
			}
		}
	}
	for _, mutation := range w.Mutations {
		switch p := mutation.(type) {
		case spi.Put:
			m.put(p.Key, p.Bytes)
		case spi.Delete:
			delete(m.rows, p.Key)
		}
	}
	return spi.Applied{}, nil
}

func (m *memStore) Scan(context.Context, spi.ScanRequest) (spi.ScanResult, error) {
	return spi.Expired{}, nil
}

func (m *memStore) Close() error { return nil }
