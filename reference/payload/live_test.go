package payload_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/reference/payload"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// A payload goes through a real Redis and back, and is lost whole with one of
// its chunks.
func TestPayloadOnRedis(t *testing.T) {
	ctx := context.Background()
	blobs, err := reference.OpenRelocation(reference.Options{Redis: redistest.Start(t), KeyPrefix: "payload"})
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	data := bytes.Repeat([]byte("0123456789abcdef"), 20_000) // 320,000 bytes in five chunks
	store := payload.Store{Blobs: blobs, ChunkSize: 1 << 16}
	plan := payload.Plan{Index: "move-1/index", Length: int64(len(data)), Chunk: func(order int) spi.Reference {
		return spi.Reference(fmt.Sprint("move-1/chunk-", order))
	}}
	if _, err := store.Put(ctx, plan, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	x, err := store.Join(ctx, plan.Index, &out)
	if err != nil || !bytes.Equal(out.Bytes(), data) || len(x.Chunks) != 5 {
		t.Errorf("joined %d bytes of %d chunks, %v", out.Len(), len(x.Chunks), err)
	}
	if renewed, err := store.RenewDue(ctx, plan.Index); renewed || err != nil {
		t.Errorf("24 h left: renewed %v, %v", renewed, err)
	}
	if err := store.Renew(ctx, plan.Index); err != nil {
		t.Error(err)
	}
	if err := blobs.Delete(ctx, plan.Chunk(3)); err != nil {
		t.Fatal(err)
	}
	var lost *payload.DataLost
	if _, err := store.Join(ctx, plan.Index, io.Discard); !errors.As(err, &lost) || lost.Chunk != 3 ||
		lost.Reason != payload.Absent {
		t.Errorf("without chunk 3: %v", err)
	}
	if err := store.Delete(ctx, plan.Index); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []spi.Reference{plan.Index, plan.Chunk(0), plan.Chunk(4)} {
		if got, err := blobs.Read(ctx, ref); err != nil {
			t.Error(err)
		} else if _, ok := got.(spi.Missing); !ok {
			t.Errorf("%s is still there", ref)
		}
	}
}
