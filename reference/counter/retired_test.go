package counter

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func TestFlush(t *testing.T) {
	ctx := context.Background()
	client := redistest.Client(t, redistest.Start(t))
	physical := func(prefix, logical string) string {
		return fmt.Sprintf("%s:{zlink-location-v3}:opaque:%x", prefix, sha256.Sum256([]byte(logical)))
	}
	gone := []string{physical("app1", "zlink:v11:counter:object"), physical("app1", "zlink:v11:authority-generations")}
	kept := []string{
		physical("app1", string(Object)), physical("app2", "zlink:v11:counter:object"),
		"app1:{zlink-location-v3}:opaque:index", "zlink:v11:counter:object",
	}
	for _, key := range append(gone, kept...) {
		if err := client.Set(ctx, key, "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	flush, err := PlanFlush(ctx, client, "app1")
	if err != nil {
		t.Fatal(err)
	}
	exist := map[spi.Key]bool{"zlink:v11:counter:object": true, "zlink:v11:authority-generations": true}
	for _, k := range flush.Keys {
		if k.RedisKey != physical("app1", string(k.Logical)) || k.Exists != exist[k.Logical] {
			t.Errorf("planned %+v", k)
		}
	}
	if len(flush.Keys) != 5 {
		t.Errorf("planned %d keys, want 5", len(flush.Keys))
	}
	if n := client.DBSize(ctx).Val(); n != 6 {
		t.Errorf("%d keys after the dry run, want all 6", n)
	}
	for _, want := range []int64{2, 0} {
		if n, err := flush.Apply(ctx); err != nil || n != want {
			t.Errorf("deleted %d, %v; want %d", n, err, want)
		}
	}
	if n := client.Exists(ctx, kept...).Val(); n != 4 {
		t.Errorf("%d of the other keys are left, want 4", n)
	}
	if _, err := PlanFlush(ctx, client, "a{b"); spi.KindOf(err) != spi.KindArgument {
		t.Errorf("prefix with a brace: %v, want an argument error", err)
	}
}
