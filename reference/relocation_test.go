package reference_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/spi"
)

type blobs struct {
	t     testing.TB
	redis *redis.Client
	store *reference.Relocation
}

func startBlobs(t testing.TB) *blobs {
	server := redistest.Start(t)
	store := openRelocation(t, reference.Options{Redis: server, KeyPrefix: prefix})
	return &blobs{t: t, redis: redistest.Client(t, server), store: store}
}

func (b *blobs) put(ref spi.Reference, payload []byte, retention spi.Retention) spi.BlobPutResult {
	b.t.Helper()
	result, err := b.store.Put(context.Background(), ref, payload, retention)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

func (b *blobs) read(ref spi.Reference) spi.BlobReadResult {
	b.t.Helper()
	result, err := b.store.Read(context.Background(), ref)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// R4.put, R4.put-keeps, R4.read, R4.renew, R4.delete, R8.key, R8.string.
func TestBlob(t *testing.T) {
	b := startBlobs(t)
	ctx := context.Background()
	for _, ref := range []spi.Reference{"r", "a:{b}\x00ü", spi.Reference(strings.Repeat("r", 4096))} {
		stored, ok := b.put(ref, []byte("payload"), 60000.5).(spi.Stored)
		if !ok || stored.ExpiresAt != stored.StoreNow+60001 {
			t.Fatalf("%+v, want Stored for 60001 ms", stored)
		}
		key := prefix + ":{zlink-relocation-v1}:blob:" + string(ref)
		if got := b.redis.Get(ctx, key).Val(); got != "payload" {
			t.Errorf("Redis holds %q", got)
		}
		if got := b.redis.PExpireTime(ctx, key).Val(); spi.Millis(got/time.Millisecond) != stored.ExpiresAt {
			t.Errorf("Redis expires the key at %d, the store at %d", got/time.Millisecond, stored.ExpiresAt)
		}
		if again, ok := b.put(ref, []byte("payload"), 1).(spi.AlreadyStored); !ok || again.ExpiresAt != stored.ExpiresAt {
			t.Errorf("%+v, want AlreadyStored until %d", again, stored.ExpiresAt)
		}
		for _, other := range []string{"", "pay", "payloae", "payload\x00"} {
			if result, ok := b.put(ref, []byte(other), 1).(spi.Conflict); !ok {
				t.Errorf("%q: %T, want Conflict", other, result)
			}
		}
		found, ok := b.read(ref).(spi.BlobFound)
		if !ok || string(found.Bytes) != "payload" || found.ExpiresAt != stored.ExpiresAt {
			t.Errorf("%+v, want the stored payload", found)
		}
		for range 2 {
			result, err := b.store.Renew(ctx, ref, 1e14)
			if renewed, ok := result.(spi.Renewed); err != nil || !ok || renewed.ExpiresAt != renewed.StoreNow+1e14 {
				t.Errorf("%+v, %v; want Renewed for 1e14 ms", result, err)
			}
		}
		for range 2 {
			if err := b.store.Delete(ctx, ref); err != nil {
				t.Error(err)
			}
		}
		if _, ok := b.read(ref).(spi.Missing); !ok {
			t.Error("found after delete")
		}
		if result, err := b.store.Renew(ctx, ref, 1); err != nil {
			t.Error(err)
		} else if _, ok := result.(spi.Missing); !ok {
			t.Errorf("%T, want Missing", result)
		}
	}
}

func TestBlobExpires(t *testing.T) {
	b := startBlobs(t)
	stored := b.put("r", nil, 0.5).(spi.Stored)
	for {
		missing, ok := b.read("r").(spi.Missing)
		if ok {
			if missing.StoreNow < stored.ExpiresAt {
				t.Error("missing before its expiry")
			}
			break
		}
	}
	if _, ok := b.put("r", []byte("other"), 60000).(spi.Stored); !ok {
		t.Error("the reference is not free after the expiry")
	}
}

// R3.size: the greatest blob, an empty one and one byte too many.
func TestBlobSizes(t *testing.T) {
	b := startBlobs(t)
	payload := bytes.Repeat([]byte("0123456789"), spi.MaxBlobBytes/10+1)
	if _, err := b.store.Put(context.Background(), "r", payload[:spi.MaxBlobBytes+1],
		60000); spi.KindOf(err) != spi.KindArgument {
		t.Errorf("one byte too many: %v", err)
	}
	for _, size := range []int{0, spi.MaxBlobBytes} {
		ref := spi.Reference(numbered("r", size))
		b.put(ref, payload[:size], 60000)
		if found, ok := b.read(ref).(spi.BlobFound); !ok || !bytes.Equal(found.Bytes, payload[:size]) {
			t.Errorf("%d bytes do not come back", size)
		}
		if _, ok := b.put(ref, payload[:size], 60000).(spi.AlreadyStored); !ok {
			t.Errorf("%d bytes are not the same", size)
		}
	}
}

// R8.unknown: another type, or a string without expiry, is left alone.
func TestBlobUnknown(t *testing.T) {
	b := startBlobs(t)
	ctx := context.Background()
	key := func(ref string) string { return prefix + ":{zlink-relocation-v1}:blob:" + ref }
	b.redis.Set(ctx, key("durable"), "x", 0)
	b.redis.RPush(ctx, key("list"), "x")
	for _, ref := range []spi.Reference{"durable", "list"} {
		_, putErr := b.store.Put(ctx, ref, []byte("x"), 1000)
		_, readErr := b.store.Read(ctx, ref)
		_, renewErr := b.store.Renew(ctx, ref, 1000)
		for _, err := range []error{putErr, readErr, renewErr, b.store.Delete(ctx, ref)} {
			wantKind(t, err, spi.KindStoreFailure)
		}
		if b.redis.Exists(ctx, key(string(ref))).Val() != 1 || b.redis.PTTL(ctx, key(string(ref))).Val() >= 0 {
			t.Errorf("%s was changed", ref)
		}
	}
}

func TestBlobArguments(t *testing.T) {
	store := openRelocation(t, reference.Options{Redis: &redis.Options{Addr: "127.0.0.1:1"}})
	ctx := context.Background()
	for _, ref := range []spi.Reference{"", "\xff", spi.Reference(strings.Repeat("r", 4097))} {
		_, putErr := store.Put(ctx, ref, nil, 1)
		_, readErr := store.Read(ctx, ref)
		_, renewErr := store.Renew(ctx, ref, 1)
		for _, err := range []error{putErr, readErr, renewErr, store.Delete(ctx, ref)} {
			wantKind(t, err, spi.KindArgument)
		}
	}
	for _, retention := range []spi.Retention{0, -1, spi.Retention(nan())} {
		_, putErr := store.Put(ctx, "r", nil, retention)
		_, renewErr := store.Renew(ctx, "r", retention)
		wantKind(t, putErr, spi.KindArgument)
		wantKind(t, renewErr, spi.KindArgument)
	}
}
