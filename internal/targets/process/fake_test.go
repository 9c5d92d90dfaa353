package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// fake is a provider in memory, with a clock that stands still at fakeNow.
// Some keys and references make it misbehave.
const fakeNow = spi.Millis(1_700_000_000_000)

func fakeProvider() targets.Provider {
	return targets.Provider{
		Info: targets.Info{
			Provider: "fake", Language: "go", Version: "1.2.3", Layout: targets.LayoutNone,
			Stores:       []string{targets.StoreLocation, targets.StoreRelocation},
			Capabilities: []string{targets.CapCancellation, targets.CapSurface},
		},
		OpenLocation: func(ctx context.Context, c targets.StoreConfig) (spi.LocationStore, error) {
			if c.KeyPrefix == "" {
				return nil, spi.Argument("the key prefix is empty")
			}
			if shared, ok := c.Share.(*fakeLocation); ok {
				return shared, nil
			}
			return &fakeLocation{config: c, values: map[spi.Key]spi.Value{}}, nil
		},
		OpenRelocation: func(context.Context, targets.StoreConfig) (spi.RelocationStore, error) {
			return &fakeRelocation{blobs: map[spi.Reference][]byte{}}, nil
		},
		Surface: func() []string { return []string{"LocationStore", "RelocationStore"} },
	}
}

type fakeLocation struct {
	config   targets.StoreConfig
	mu       sync.Mutex
	values   map[spi.Key]spi.Value
	versions int
	closed   int
}

func (f *fakeLocation) Read(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
	switch {
	case key == "hang":
		select {}
	case ctx.Err() != nil:
		return nil, &spi.Error{Kind: spi.KindCancelled, Type: "FakeCancelled", Message: "before the start"}
	case strings.HasPrefix(string(key), "unsupported"):
		return nil, targets.Unsupported("no")
	case !utf8.ValidString(string(key)):
		return nil, spi.Argument("the key %q is not UTF-8", string(key))
	case key == "wait":
		<-ctx.Done()
		return nil, &spi.Error{Kind: spi.KindCancelled, Type: "FakeCancelled", Message: "in flight"}
	case key == "plain-error":
		return nil, errors.New("plain")
	case key == "panic":
		panic("fake panic")
	case key == "nothing":
		return nil, nil
	case key == "environment":
		all := "\n" + strings.Join(append(os.Args, os.Environ()...), "\n") + "\n"
		return spi.Found{Value: spi.Value{Bytes: []byte(all), Version: "c"}}, nil
	case key == "process":
		return spi.Found{Value: spi.Value{Bytes: fmt.Append(nil, os.Getpid()), Version: "c"}}, nil
	case key == "config":
		c := f.config
		return spi.Found{Value: spi.Value{Bytes: fmt.Appendf(nil, "%+v %s %s", c.Redis, c.KeyPrefix, c.OperationTimeout),
			Version: "c"}}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.values[key]
	if !ok {
		return spi.Missing{StoreNow: fakeNow}, nil
	}
	return spi.Found{Value: v, StoreNow: fakeNow}, nil
}

func (f *fakeLocation) Write(_ context.Context, r spi.WriteRequest) (spi.WriteResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range r.Conditions {
		v, ok := f.values[c.ConditionKey()]
		switch c := c.(type) {
		case spi.MissingCondition:
			ok = !ok
		case spi.VersionCondition:
			ok = ok && v.Version == c.Expected
		case spi.ValueCondition:
			ok = ok && bytes.Equal(v.Bytes, c.Expected)
		}
		if !ok {
			return spi.Conflict{StoreNow: fakeNow}, nil
		}
	}
	applied := spi.Applied{StoreNow: fakeNow}
	for _, m := range r.Mutations {
		p, ok := m.(spi.Put)
		if !ok {
			delete(f.values, m.MutationKey())
			continue
		}
		f.versions++
		v := spi.Value{Bytes: p.Bytes, Version: spi.Version(fmt.Sprintf("v%d", f.versions))}
		if !strings.HasPrefix(string(p.Key), "alias") { // an aliasing fault keeps the caller's buffer
			v.Bytes = bytes.Clone(p.Bytes)
		}
		if p.Retention != nil {
			v.ExpiresAt = fakeNow + spi.Millis(*p.Retention)
		}
		f.values[p.Key] = v
		applied.PutVersions = append(applied.PutVersions, spi.PutVersion{Key: p.Key, Version: v.Version})
	}
	return applied, nil
}

func (f *fakeLocation) Scan(_ context.Context, r spi.ScanRequest) (spi.ScanResult, error) {
	if r.Cursor != nil && *r.Cursor != "next" {
		return spi.Expired{}, nil
	}
	if r.Cursor != nil {
		return spi.Page{StoreNow: fakeNow}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := spi.Cursor("next")
	page := spi.Page{Next: &next, StoreNow: fakeNow}
	for k, v := range f.values {
		if strings.HasPrefix(string(k), r.Prefix) && len(page.Items) < r.Limit {
			page.Items = append(page.Items, spi.Item{Key: k, Value: v})
		}
	}
	return page, nil
}

func (f *fakeLocation) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed++; f.closed > 2 {
		return errors.New("closed three times")
	}
	return nil
}

func scramble(b []byte) {
	for i := range b {
		b[i] ^= 0x55
	}
}

type fakeRelocation struct {
	mu    sync.Mutex
	blobs map[spi.Reference][]byte
}

func (f *fakeRelocation) Put(
	_ context.Context, ref spi.Reference, payload []byte, retention spi.Retention,
) (spi.BlobPutResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.blobs[ref]
	expires := fakeNow + spi.Millis(retention)
	switch {
	case !ok:
		f.blobs[ref] = bytes.Clone(payload)
		return spi.Stored{ExpiresAt: expires, StoreNow: fakeNow}, nil
	case bytes.Equal(b, payload):
		return spi.AlreadyStored{ExpiresAt: expires, StoreNow: fakeNow}, nil
	}
	return spi.Conflict{StoreNow: fakeNow}, nil
}

func (f *fakeRelocation) Read(_ context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.blobs[ref]
	if !ok {
		return spi.Missing{StoreNow: fakeNow}, nil
	}
	return spi.BlobFound{Bytes: b, ExpiresAt: fakeNow + 1, StoreNow: fakeNow}, nil
}

func (f *fakeRelocation) Renew(_ context.Context, ref spi.Reference, retention spi.Retention) (spi.BlobRenewResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b, ok := f.blobs[ref]; ok {
		scramble(b) // a fault: Renew changes the bytes that a reader holds
		return spi.Renewed{ExpiresAt: fakeNow + spi.Millis(retention), StoreNow: fakeNow}, nil
	}
	return spi.Missing{StoreNow: fakeNow}, nil
}

func (f *fakeRelocation) Delete(_ context.Context, ref spi.Reference) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.blobs, ref)
	return nil
}

func (f *fakeRelocation) Close() error { return nil }
