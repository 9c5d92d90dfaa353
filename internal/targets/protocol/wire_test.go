package protocol

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink-systems/zlink-conformance/spi"
)

func ptr[T any](v T) *T { return &v }

// The lines are written by hand from docs/adapter-protocol.md.
func TestWriteRequestOnTheWire(t *testing.T) {
	conditions := []spi.Condition{
		spi.MissingCondition{Key: "a\x00"},
		spi.VersionCondition{Key: "b", Expected: "\xff"},
		spi.ValueCondition{Key: "c", Expected: []byte{}},
	}
	mutations := []spi.Mutation{
		spi.Put{Key: "a", Bytes: []byte("hi")},
		spi.Put{Key: "b", Bytes: nil, Retention: spi.For(0.25)},
		spi.Delete{Key: "c"},
	}
	const wantConditions = `[{"kind":"missing","key":"a\u0000"},{"kind":"version","key":"b","version":{"b64":"/w=="}},` +
		`{"kind":"value","key":"c","bytes":{"b64":""}}]`
	const wantMutations = `[{"kind":"put","key":"a","bytes":{"b64":"aGk="}},` +
		`{"kind":"put","key":"b","bytes":{"b64":""},"retentionMs":0.25},{"kind":"delete","key":"c"}]`
	same(t, wantConditions, NewConditions(conditions))
	same(t, wantMutations, NewMutations(mutations))

	var r Request
	line := `{"id":1,"op":"location.write","handle":1,"unknown":{"x":1},"conditions":` + wantConditions + `,"mutations":` +
		wantMutations + `}`
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatal(err)
	}
	got, err := r.WriteRequest()
	if err != nil {
		t.Fatal(err)
	}
	mutations[1] = spi.Put{Key: "b", Bytes: []byte{}, Retention: spi.For(0.25)}
	if diff := cmp.Diff(spi.WriteRequest{Conditions: conditions, Mutations: mutations}, got); diff != "" {
		t.Error(diff)
	}
}

func TestScanRequestOnTheWire(t *testing.T) {
	var r Request
	if err := json.Unmarshal([]byte(`{"id":1,"op":"location.scan","handle":1,"prefix":"","cursor":"","limit":0}`),
		&r); err != nil {
		t.Fatal(err)
	}
	got, err := r.ScanRequest()
	if diff := cmp.Diff(spi.ScanRequest{Cursor: ptr(spi.Cursor(""))}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestBadRequestsAreNamed(t *testing.T) {
	for line, want := range map[string]string{
		`{"conditions":[{"kind":"missing"}]}`: `conditions[0]: ` +
			`the field "key" is missing`,
		`{"conditions":[{"kind":"version","key":"k"}]}`: `conditions[0]: the ` +
			`field "version" is missing`,
		`{"conditions":[{"kind":"value","key":"k"}]}`: `conditions[0]: bytes are missing`,
		`{"conditions":[{"kind":"odd","key":"k"}]}`:   `conditions[0]: unknown kind "odd"`,
		`{"mutations":[{"kind":"delete","key":"k"},{"kind":"put"}]}`: `mutations[1]: ` +
			`the field "key" is missing`,
		`{"mutations":[{"kind":"put","key":"k"}]}`: `mutations[0]: bytes are missing`,
		`{"mutations":[{"kind":"put","key":"k","bytes":{}}]}`: `bytes must have ` +
			`the field "b64" or "fill"`,
		`{"mutations":[{"kind":"missing","key":"k"}]}`: `mutations[0]: unknown kind "missing"`,
		`{"mutations":[{"kind":"put","key":"k","bytes":{"length":1}}]}`: `bytes must have ` +
			`the field "b64" or "fill"`,
		`{"mutations":[{"kind":"put","key":"k","bytes":{"fill":{"length":-1,"seed":0}}}]}`: `fill length -1`,
	} {
		var r Request
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(line, err)
		}
		if _, err := r.WriteRequest(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
	for line, want := range map[string]string{`{"limit":1}`: `"prefix"`, `{"prefix":"p"}`: `"limit"`} {
		var r Request
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(line, err)
		}
		if _, err := r.ScanRequest(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
}

// Every closed result, by hand from the protocol's page, there and back.
func TestResultsOnTheWire(t *testing.T) {
	value := spi.Value{Bytes: []byte("hi"), Version: "v", ExpiresAt: spi.NoExpiry}
	const wireValue = `{"bytes":{"b64":"aGk="},"version":"v","expiresAt":0}`
	for _, tt := range []struct {
		wire   string
		result any
		read   func(*Result) (any, error)
	}{
		{`{"kind":"missing","storeNow":9007199254740993}`, spi.Missing{StoreNow: 9007199254740993}, read((*Result).ReadResult)},
		{`{"kind":"found","value":` + wireValue + `,"storeNow":1}`, spi.Found{Value: value, StoreNow: 1},
			read((*Result).ReadResult)},
		{`{"kind":"conflict","storeNow":-1}`, spi.Conflict{StoreNow: -1}, read((*Result).WriteResult)},
		{`{"kind":"applied","putVersions":[{"key":"k","version":"v"}],"storeNow":1}`,
			spi.Applied{PutVersions: []spi.PutVersion{{Key: "k", Version: "v"}}, StoreNow: 1}, read((*Result).WriteResult)},
		{`{"kind":"expired"}`, spi.Expired{}, read((*Result).ScanResult)},
		{`{"kind":"page","items":[{"key":"k","value":` + wireValue + `}],"next":"n","storeNow":1}`,
			spi.Page{Items: []spi.Item{{Key: "k", Value: value}}, Next: ptr(spi.Cursor("n")), StoreNow: 1},
			read((*Result).ScanResult)},
		{`{"kind":"stored","expiresAt":9223372036854775807,"storeNow":1}`, spi.Stored{ExpiresAt: math.MaxInt64, StoreNow: 1},
			read((*Result).BlobPutResult)},
		{`{"kind":"alreadyStored","expiresAt":2,"storeNow":1}`, spi.AlreadyStored{ExpiresAt: 2, StoreNow: 1},
			read((*Result).BlobPutResult)},
		{`{"kind":"conflict","storeNow":1}`, spi.Conflict{StoreNow: 1}, read((*Result).BlobPutResult)},
		{`{"kind":"found","bytes":{"b64":"aGk="},"expiresAt":2,"storeNow":1}`,
			spi.BlobFound{Bytes: []byte("hi"), ExpiresAt: 2, StoreNow: 1}, read((*Result).BlobReadResult)},
		{`{"kind":"missing","storeNow":1}`, spi.Missing{StoreNow: 1}, read((*Result).BlobReadResult)},
		{`{"kind":"renewed","expiresAt":2,"storeNow":1}`, spi.Renewed{ExpiresAt: 2, StoreNow: 1},
			read((*Result).BlobRenewResult)},
		{`{"kind":"missing","storeNow":1}`, spi.Missing{StoreNow: 1}, read((*Result).BlobRenewResult)},
	} {
		same(t, tt.wire, NewResult(tt.result))
		got, err := parsed(t, tt.wire, tt.read)
		if diff := cmp.Diff(tt.result, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", tt.wire, err, diff)
		}
	}
	if NewResult("no result") != nil {
		t.Error("a string has a wire form")
	}
}

func TestDigestHeldAndSurfaceOnTheWire(t *testing.T) {
	sum := strings.Repeat("0f", 32)
	d := Digest{Found: true, Length: 3, ExpiresAt: 2, StoreNow: 1}
	for i := range d.SHA256 {
		d.SHA256[i] = 0x0f
	}
	for wire, want := range map[string]Digest{
		`{"kind":"found","bytes":{"length":3,"sha256":"` + sum + `"},"expiresAt":2,"storeNow":1}`: d,
		`{"kind":"missing","storeNow":1}`: {StoreNow: 1},
	} {
		same(t, wire, NewDigestResult(want))
		if got, err := parsed(t, wire, read((*Result).Digest)); err != nil || got != any(want) {
			t.Errorf("%s: got %+v, %v", wire, got, err)
		}
	}
	if got, err := parsed(t, `{"kind":"held","bytes":{"b64":"aGk="}}`, read((*Result).HeldBytes)); err != nil ||
		!cmp.Equal(got, any([]byte("hi"))) {
		t.Errorf("held: %v, %v", got, err)
	}
	if got, err := parsed(t, `{"kind":"surface","declarations":["A","B"]}`, read((*Result).Surface)); err != nil ||
		!cmp.Equal(got, any([]string{"A", "B"})) {
		t.Errorf("surface: %v, %v", got, err)
	}
}

func TestBadResultsAreNamed(t *testing.T) {
	readResult, writeResult, scanResult := read((*Result).ReadResult), read((*Result).WriteResult), read((*Result).ScanResult)
	for _, tt := range []struct {
		wire, want string
		read       func(*Result) (any, error)
	}{
		{`{}`, `the field "kind" is missing`, readResult},
		{`{"kind":"applied"}`, `the field "kind" is "applied", which is no result of this operation`, readResult},
		{`{"kind":"missing"}`, `"storeNow" is missing`, readResult},
		{`{"kind":"found","storeNow":1}`, `"value" is missing`, readResult},
		{`{"kind":"found","value":{"bytes":{},"version":"v","expiresAt":0},"storeNow":1}`, `"value.bytes.b64" is missing`,
			readResult},
		{`{"kind":"found","value":{"bytes":{"b64":""},"expiresAt":0},"storeNow":1}`, `"value.version" is missing`, readResult},
		{`{"kind":"found","value":{"bytes":{"b64":""},"version":"v"},"storeNow":1}`, `"value.expiresAt" is missing`, readResult},
		{`{"kind":"applied","storeNow":1}`, `"putVersions" is missing`, writeResult},
		{`{"kind":"applied","storeNow":1,"putVersions":[{"key":"k"}]}`, `"putVersions[0].version" is missing`, writeResult},
		{`{"kind":"conflict"}`, `"storeNow" is missing`, writeResult},
		{`{"kind":"found"}`, `is "found"`, writeResult},
		{`{"kind":"page","storeNow":1}`, `"items" is missing`, scanResult},
		{`{"kind":"page","storeNow":1,"items":[{}]}`, `"items[0].key" is missing`, scanResult},
		{`{"kind":"renewed"}`, `is "renewed"`, scanResult},
		{`{"kind":"stored","storeNow":1}`, `"expiresAt" is missing`, read((*Result).BlobPutResult)},
		{`{"kind":"page","storeNow":1}`, `is "page"`, read((*Result).BlobPutResult)},
		{`{"kind":"found","storeNow":1,"expiresAt":1}`, `"bytes.b64" is missing`, read((*Result).BlobReadResult)},
		{`{"kind":"page","storeNow":1}`, `is "page"`, read((*Result).BlobReadResult)},
		{`{"kind":"renewed","storeNow":1}`, `"expiresAt" is missing`, read((*Result).BlobRenewResult)},
		{`{"kind":"page","storeNow":1}`, `is "page"`, read((*Result).BlobRenewResult)},
		{`{"kind":"found","storeNow":1,"expiresAt":1}`, `"bytes.length" is missing`, read((*Result).Digest)},
		{`{"kind":"found","storeNow":1,"expiresAt":1,"bytes":{"length":1,"sha256":"0f"}}`, `64 hexadecimal digits`,
			read((*Result).Digest)},
		{`{"kind":"page","storeNow":1}`, `is "page"`, read((*Result).Digest)},
		{`{"kind":"held"}`, `"bytes.b64" is missing`, read((*Result).HeldBytes)},
		{`{"kind":"found"}`, `is "found"`, read((*Result).HeldBytes)},
		{`{"kind":"held"}`, `is "held"`, read((*Result).Surface)},
	} {
		if _, err := parsed(t, tt.wire, tt.read); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.wire, err, tt.want)
		}
	}
}

func TestInfo(t *testing.T) {
	i := Info{Stores: []string{"location"}, Capabilities: []string{"tls"}}
	if !i.Offers("location") || i.Offers("relocation") || !i.Has("tls") || i.Has("clock") {
		t.Errorf("%+v", i)
	}
}

// read makes the readers of results alike.
func read[R any](f func(*Result) (R, error)) func(*Result) (any, error) {
	return func(r *Result) (any, error) { return f(r) }
}

func parsed(t *testing.T, wire string, f func(*Result) (any, error)) (any, error) {
	t.Helper()
	var r Result
	if err := json.Unmarshal([]byte(wire), &r); err != nil {
		t.Fatal(wire, err)
	}
	return f(&r)
}

func same(t *testing.T, wire string, v any) {
	t.Helper()
	if got, err := json.Marshal(v); err != nil || string(got) != wire {
		t.Errorf("got  %s %v\nwant %s", got, err, wire)
	}
}

func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"op":"hello","protocol":1}`,
		`{"id":2,"op":"open","handle":1,"store":"location","redis":{"host":"h","port":1,"db":0,"tls":false},"keyPrefix":"p"}`,
		`{"id":3,"op":"location.write","conditions":[{"kind":"version","key":"k","version":{"b64":"/w=="}}],` +
			`"mutations":[{"kind":"put","key":"k","bytes":{"fill":{"length":3,"seed":1,"patch":[[0,255]]}},"retentionMs":0.5}]}`,
		`{"id":4,"op":"location.scan","prefix":"\ud83d\ude00","cursor":"c","limit":1000}`,
		`{"id":5,"op":"relocation.put","reference":"\u0000","payload":{"b64":"AA=="},"retentionMs":9223372036854775807}`,
		`{"id":9223372036854775807,"op":"cancel","of":-1}`, `{"key":"\ud800"}`, `{"key":{"b64":"?"}}`, `[]`, `null`, `{"id":1e3}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var r Request
		if json.Unmarshal(line, &r) != nil {
			return
		}
		for _, m := range r.Mutations {
			if m.Bytes != nil && m.Bytes.Fill != nil && m.Bytes.Fill.Length > 1<<16 {
				return // the time to make the bytes is not the question
			}
		}
		again(t, &r, new(Request))
		if w, err := r.WriteRequest(); err == nil {
			if len(w.Conditions) != len(r.Conditions) || len(w.Mutations) != len(r.Mutations) {
				t.Fatalf("%s lost a row", line)
			}
		}
		_, _ = r.ScanRequest()
	})
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"result":{"kind":"hello","protocol":1,"provider":"p","stores":["location"],"layout":"none"}}`,
		`{"id":1,"result":{"kind":"page","items":[{"key":"k","value":{"bytes":{"b64":""},"version":"v","expiresAt":0}}],` +
			`"storeNow":1}}`,
		`{"id":1,"result":{"kind":"found","bytes":{"length":1,"sha256":"00"},"expiresAt":9223372036854775807,"storeNow":1}}`,
		`{"id":1,"error":{"kind":"argument","message":"m"}}`, `{"id":null}`, `{}`,
		`{"result":{"kind":"applied","putVersions":[{}]}}`,
	} {
		f.Add([]byte(seed))
	}
	readers := []func(*Result) (any, error){
		read((*Result).ReadResult), read((*Result).WriteResult), read((*Result).ScanResult), read((*Result).BlobPutResult),
		read((*Result).BlobReadResult), read((*Result).BlobRenewResult), read((*Result).Digest), read((*Result).HeldBytes),
		read((*Result).Surface),
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var a Answer
		if json.Unmarshal(line, &a) != nil || a.Result == nil {
			return
		}
		again(t, &a, new(Answer))
		for _, r := range readers {
			result, err := r(a.Result)
			if wire := NewResult(result); err == nil && wire != nil && wire.Kind != a.Result.Kind {
				t.Fatalf("%s is read as a %s", line, wire.Kind)
			}
		}
	})
}

// again writes v, reads that and writes it once more: what was understood once
// is understood the same way again.
func again(t *testing.T, v, back any) {
	t.Helper()
	first, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%+v: %v", v, err)
	}
	if err := json.Unmarshal(first, back); err != nil {
		t.Fatalf("%s: %v", first, err)
	}
	second, err := json.Marshal(back)
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%s\nbecame\n%s %v", first, second, err)
	}
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "\n", "a\n", "a\r\nb", "\r\n\r\n", "0123456789\n0123456789012345\r\nx"} {
		f.Add([]byte(seed))
	}
	const most = 12
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := NewLines(bytes.NewReader(data), most)
		rest := data
		for {
			line, length, err := lines.Next()
			if err != nil {
				break
			}
			want, after, _ := bytes.Cut(rest, []byte("\n"))
			taken := len(rest) - len(after)
			rest = after
			if taken <= most+len("\r\n") {
				want = bytes.TrimSuffix(want, []byte("\r"))
			}
			if len(line) > most || !bytes.HasPrefix(want, line) {
				t.Fatalf("%q: the line is %q, want the beginning of %q", data, line, want)
			}
			if length <= most && !bytes.Equal(line, want) {
				t.Fatalf("%q: the line is %q, want %q", data, line, want)
			}
		}
		if len(rest) != 0 {
			t.Fatalf("%q: %q was never returned", data, rest)
		}
	})
}
