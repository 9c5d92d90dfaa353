package reference

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Location is the reference Location Store. It supports ValueCondition.
type Location struct {
	*store
	read, write, scan *redis.Script
}

var _ spi.LocationStore = (*Location)(nil)

// Read returns spi.Missing or spi.Found (L2.observation).
func (l *Location) Read(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
	if err := validateKey(key); err != nil {
		return nil, err
	}
	r, err := l.eval(ctx, l.read, layout.RecordKey(l.prefix, string(key)))
	if err != nil {
		return nil, err
	}
	now, err := r.millis(0)
	if err != nil {
		return nil, err
	}
	if len(r) == 1 || r[1] == nil {
		return spi.Missing{StoreNow: now}, nil
	}
	raw, err := r.text(1)
	if err != nil {
		return nil, err
	}
	member, err := decodeMember(raw)
	if err != nil {
		return nil, err
	}
	if member.Key != string(key) {
		return nil, storeFailure(fmt.Errorf("the record of key %q holds key %q", key, member.Key))
	}
	if member.Tombstone || member.ExpiresAt != spi.NoExpiry && member.ExpiresAt <= now {
		return spi.Missing{StoreNow: now}, nil
	}
	return spi.Found{Value: valueOf(member), StoreNow: now}, nil
}

// decodeMember reads a stored member; one that is no member of the layout, or
// without a version that could be a condition, is a store failure (L9.unknown-tag).
func decodeMember(raw string) (layout.Member, error) {
	member, err := layout.DecodeMember(bytesOf(raw))
	if err != nil {
		return layout.Member{}, storeFailure(err)
	}
	if n := len(member.Version); n < 1 || n > spi.MaxVersionBytes || !utf8.ValidString(member.Version) {
		return layout.Member{}, storeFailure(fmt.Errorf("the version of key %q is not 1..%d bytes of UTF-8", member.Key,
			spi.MaxVersionBytes))
	}
	return member, nil
}

func valueOf(m layout.Member) spi.Value {
	return spi.Value{Bytes: m.Value, Version: spi.Version(m.Version), ExpiresAt: m.ExpiresAt}
}
