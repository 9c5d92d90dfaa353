package process_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func TestInProcess(t *testing.T) {
	testTarget(t, targets.InProcess(fakeProvider()))
}

var fakeConfig = targets.StoreConfig{
	Redis: redisenv.ConnInfo{Host: "h", Port: 1, DB: 2, Username: "u", Password: "geheim", TLS: true,
		CAFile: "/ca", Socket: "/s", URL: "rediss://h:1/2"},
	KeyPrefix: "p", OperationTimeout: 1500 * time.Millisecond,
}

// testTarget checks what every target of the fake provider must do.
func testTarget(t *testing.T, tt targets.Target) {
	ctx := t.Context()
	if got := tt.Info(); got.Protocol != 1 || got.Provider != "fake" || !got.Has(targets.CapCancellation) ||
		got.Has(targets.CapTLS) {
		t.Errorf("Info() = %+v", got)
	}
	surface, err := tt.Surface(ctx)
	if err != nil || !cmp.Equal(surface, []string{"LocationStore", "RelocationStore"}) {
		t.Errorf("Surface() = %q, %v", surface, err)
	}
	if _, err := tt.OpenLocation(ctx, targets.StoreConfig{}); spi.KindOf(err) != spi.KindArgument {
		t.Errorf("open without a prefix: %v, want an argument error", err)
	}
	loc, err := tt.OpenLocation(ctx, fakeConfig)
	if err != nil {
		t.Fatal(err)
	}
	rel, err := tt.OpenRelocation(ctx, fakeConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("location", func(t *testing.T) { testLocation(t, loc) })
	t.Run("errors", func(t *testing.T) { testErrors(t, loc) })
	t.Run("contexts", func(t *testing.T) { testContexts(t, loc) })
	t.Run("relocation", func(t *testing.T) { testRelocation(t, rel) })
	t.Run("share", func(t *testing.T) {
		config := fakeConfig
		config.Share = loc
		other, err := tt.OpenLocation(ctx, config)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := other.Read(ctx, "all"); err != nil || !bytes.Equal(r.(spi.Found).Value.Bytes, allBytes()) {
			t.Errorf("read through the sharing store = %v, %v", r, err)
		}
	})
	t.Run("close", func(t *testing.T) {
		for range 2 {
			if err := loc.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		if err := loc.Close(); spi.KindOf(err) != spi.KindStoreFailure {
			t.Errorf("third Close: %v, want the provider's error as a store failure", err)
		}
	})
}

func allBytes() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func testLocation(t *testing.T, loc targets.Location) {
	ctx := t.Context()
	write := func(want spi.WriteResult, r spi.WriteRequest) {
		t.Helper()
		got, err := loc.Write(ctx, r)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Write: %v (-want +got)\n%s", err, diff)
		}
	}
	conflict := spi.Conflict{StoreNow: fakeNow}
	input := allBytes()
	write(spi.Applied{StoreNow: fakeNow, PutVersions: []spi.PutVersion{{Key: "all", Version: "v1"},
		{Key: "ключ\x00<&>", Version: "v2"}, {Key: "alias", Version: "v3"}}},
		spi.WriteRequest{
			Conditions: []spi.Condition{spi.MissingCondition{Key: "all"}},
			Mutations: []spi.Mutation{spi.Put{Key: "all", Bytes: input}, spi.Put{Key: "ключ\x00<&>", Retention: spi.For(1.5)},
				spi.Delete{Key: "gone"}, spi.Put{Key: "alias", Bytes: []byte{1, 2}}},
		})
	if !bytes.Equal(input, allBytes()) {
		t.Error("the caller's own buffer was overwritten")
	}
	write(conflict, spi.WriteRequest{Conditions: []spi.Condition{spi.MissingCondition{Key: "all"}}})
	write(conflict, spi.WriteRequest{Conditions: []spi.Condition{spi.VersionCondition{Key: "all", Expected: "v2"}}})
	write(conflict, spi.WriteRequest{Conditions: []spi.Condition{spi.ValueCondition{Key: "all", Expected: []byte{0}}}})
	write(spi.Applied{StoreNow: fakeNow}, spi.WriteRequest{Conditions: []spi.Condition{
		spi.VersionCondition{Key: "all", Expected: "v1"}, spi.ValueCondition{Key: "alias", Expected: []byte{0xfe, 0xfd}}}})

	for key, want := range map[spi.Key]spi.ReadResult{
		"all":         spi.Found{Value: spi.Value{Bytes: allBytes(), Version: "v1"}, StoreNow: fakeNow},
		"ключ\x00<&>": spi.Found{Value: spi.Value{Bytes: []byte{}, Version: "v2", ExpiresAt: fakeNow + 1}, StoreNow: fakeNow},
		// L6.input-bytes broken and seen
		"alias":  spi.Found{Value: spi.Value{Bytes: []byte{0xfe, 0xfd}, Version: "v3"}, StoreNow: fakeNow},
		"absent": spi.Missing{StoreNow: fakeNow},
	} {
		got, err := loc.Read(ctx, key)
		if diff := cmp.Diff(want, got, emptyBytes); err != nil || diff != "" {
			t.Errorf("Read(%q): %v (-want +got)\n%s", key, err, diff)
		}
	}
	heldResult, recheck, err := loc.ReadHeld(ctx, "all")
	if err != nil || !bytes.Equal(heldResult.(spi.Found).Value.Bytes, allBytes()) {
		t.Errorf("ReadHeld = %v, %v", heldResult, err)
	}
	if now, err := recheck(ctx); err != nil || !bytes.Equal(now, allBytes()) {
		t.Errorf("recheck = % x, %v", now, err)
	}
	r, err := loc.Read(ctx, "config")
	const want = "{URL:rediss://h:1/2 Host:h Port:1 Socket:/s DB:2 Username:u Password:geheim TLS:true CAFile:/ca} p 1.5s"
	if err != nil || string(r.(spi.Found).Value.Bytes) != want {
		t.Errorf("the provider was opened with %s, %v; want %s", r.(spi.Found).Value.Bytes, err, want)
	}

	next := spi.Cursor("next")
	other := spi.Cursor("other")
	for _, row := range []struct {
		request spi.ScanRequest
		want    spi.ScanResult
	}{
		{spi.ScanRequest{Prefix: "al", Limit: 0}, spi.Page{Next: &next, StoreNow: fakeNow}},
		{spi.ScanRequest{Prefix: "all", Limit: 9},
			spi.Page{Items: []spi.Item{{Key: "all", Value: spi.Value{Bytes: allBytes(), Version: "v1"}}}, Next: &next,
				StoreNow: fakeNow}},
		{spi.ScanRequest{Cursor: &next, Limit: 1}, spi.Page{StoreNow: fakeNow}},
		{spi.ScanRequest{Cursor: &other, Limit: -1}, spi.Expired{}},
	} {
		got, err := loc.Scan(ctx, row.request)
		if diff := cmp.Diff(row.want, got); err != nil || diff != "" {
			t.Errorf("Scan(%+v): %v (-want +got)\n%s", row.request, err, diff)
		}
	}
}

var emptyBytes = cmp.Comparer(bytes.Equal)

func testErrors(t *testing.T, loc targets.Location) {
	for key, want := range map[spi.Key]spi.Error{
		"plain-error":   {Kind: spi.KindStoreFailure, Type: "*errors.errorString", Message: "plain"},
		"\xed\xa0\x80":  {Kind: spi.KindArgument, Message: `the key "\xed\xa0\x80" is not UTF-8`},
		"nothing":       {Kind: spi.KindInternal, Message: "the provider returned neither a result nor an error"},
		"k\xff\ufffd\"": {Kind: spi.KindArgument, Message: `the key "k\xff�\"" is not UTF-8`},
	} {
		_, err := loc.Read(t.Context(), key)
		var got *spi.Error
		if !errors.As(err, &got) {
			t.Errorf("Read(%q): %v, want an *spi.Error", key, err)
		} else if got.Kind != want.Kind || got.Type != want.Type || got.Message != want.Message {
			t.Errorf("Read(%q): %+v, want %+v", key, *got, want)
		}
	}
	if _, err := loc.Read(t.Context(), "panic"); spi.KindOf(err) != spi.KindInternal ||
		!strings.Contains(err.Error(), "fake panic") {
		t.Errorf("a panic became %v, want an internal error", err)
	}
}

func testContexts(t *testing.T, loc targets.Location) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := loc.Read(cancelled, "all"); spi.KindOf(err) != spi.KindCancelled ||
		!strings.Contains(err.Error(), "before the start") {
		t.Errorf("read with a token cancelled beforehand: %v", err)
	}
	token, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := loc.Read(token, "wait"); spi.KindOf(err) != spi.KindCancelled || !strings.Contains(err.Error(), "in flight") {
		t.Errorf("read with a token cancelled in flight: %v", err)
	}
	abandoned, abandon := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { abandon(targets.ErrAbandoned) })
	_, err := loc.Read(targets.CaseContext(abandoned), "hang")
	wantAbandoned(t, err)
	_, err = loc.Read(targets.CaseContext(abandoned), "hang")
	wantAbandoned(t, err)

	// The token was cancelled before the case was given up.
	kase, endCase := context.WithCancelCause(t.Context())
	token, cancel = context.WithCancel(targets.CaseContext(kase))
	cancel()
	time.AfterFunc(20*time.Millisecond, func() { endCase(targets.ErrAbandoned) })
	for _, key := range []spi.Key{"hang", "all"} {
		_, err := loc.Read(token, key)
		wantAbandoned(t, err)
	}
}

func wantAbandoned(t *testing.T, err error) {
	t.Helper()
	var trouble *targets.TroubleError
	if !errors.As(err, &trouble) || !strings.Contains(trouble.What, "location.read") ||
		!strings.Contains(trouble.What, "given up") {
		t.Errorf("an abandoned read ended with %v, want a TroubleError that names it", err)
	}
}

func testRelocation(t *testing.T, rel targets.Relocation) {
	ctx := t.Context()
	fill := targets.Fill{Length: 1000, Seed: 7, Patch: [][2]int64{{0, 0}, {999, 255}}}
	content := fill.Bytes()
	if got, want := content[1], byte(0xf1); got != want { // 8*2654435761 = 0x4f1bbcd88
		t.Errorf("byte 1 of the fill is %#x, want %#x by its formula", got, want)
	}
	for _, want := range []spi.BlobPutResult{spi.Stored{ExpiresAt: fakeNow + 5, StoreNow: fakeNow},
		spi.AlreadyStored{ExpiresAt: fakeNow + 5, StoreNow: fakeNow}} {
		if got, err := rel.PutFill(ctx, "r\xc3\xa9", fill, 5.25); err != nil || got != want {
			t.Errorf("PutFill = %v, %v; want %v", got, err, want)
		}
	}
	if _, err := rel.PutFill(ctx, "x", targets.Fill{Length: 1, Patch: [][2]int64{{1, 0}}},
		5); spi.KindOf(err) != spi.KindInternal {
		t.Errorf("a fill with a patch out of bounds: %v, want an internal error", err)
	}
	if got, err := rel.Put(ctx, "r\xc3\xa9", []byte("other"), 5); err != nil || got != (spi.Conflict{StoreNow: fakeNow}) {
		t.Errorf("Put of other bytes = %v, %v", got, err)
	}
	wantDigest := targets.DigestResult{Found: true, Length: 1000, SHA256: sha256.Sum256(content), ExpiresAt: fakeNow + 1,
		StoreNow: fakeNow}
	if got, err := rel.ReadDigest(ctx, "r\xc3\xa9"); err != nil || got != wantDigest {
		t.Errorf("ReadDigest = %v, %v; want %v", got, err, wantDigest)
	}
	if got, err := rel.ReadDigest(ctx, "absent"); err != nil || got != (targets.DigestResult{StoreNow: fakeNow}) {
		t.Errorf("ReadDigest of an absent reference = %v, %v", got, err)
	}
	got, recheck, err := rel.ReadHeld(ctx, "r\xc3\xa9")
	if diff := cmp.Diff(spi.BlobReadResult(spi.BlobFound{Bytes: content, ExpiresAt: fakeNow + 1, StoreNow: fakeNow}),
		got); err != nil || diff != "" {
		t.Fatalf("ReadHeld: %v\n%s", err, diff)
	}
	if renewed, err := rel.Renew(ctx, "r\xc3\xa9", 9); err != nil ||
		renewed != (spi.Renewed{ExpiresAt: fakeNow + 9, StoreNow: fakeNow}) {
		t.Errorf("Renew = %v, %v", renewed, err)
	}
	scrambled := bytes.Clone(content)
	scramble(scrambled)
	if now, err := recheck(ctx); err != nil || !bytes.Equal(now, scrambled) {
		t.Errorf("recheck: %v; want the bytes as the provider changed them", err)
	}
	if got, err := rel.Renew(ctx, "absent", 9); err != nil || got != (spi.Missing{StoreNow: fakeNow}) {
		t.Errorf("Renew of an absent reference = %v, %v", got, err)
	}
	if err := rel.Delete(ctx, "r\xc3\xa9"); err != nil {
		t.Error(err)
	}
	if got, err := rel.Read(ctx, "r\xc3\xa9"); err != nil || got != (spi.Missing{StoreNow: fakeNow}) {
		t.Errorf("Read after Delete = %v, %v", got, err)
	}
}
