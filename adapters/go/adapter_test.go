package adapter_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	adapter "github.com/zlink-systems/zlink-conformance/adapters/go"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// hanging is a store of which Read never returns, whatever its context says.
type hanging struct {
	spi.LocationStore
	reading chan struct{}
	closed  chan struct{}
}

func (h hanging) Read(context.Context, spi.Key) (spi.ReadResult, error) {
	close(h.reading)
	select {}
}

func (h hanging) Close() error { close(h.closed); return nil }

func serve(t *testing.T, p adapter.Provider) (ask func(line string) string, in io.WriteCloser, served chan error) {
	requests, in := io.Pipe()
	answers, out := io.Pipe()
	served = make(chan error, 1)
	go func() {
		served <- adapter.Serve(context.Background(), p, requests, out)
		out.Close()
	}()
	t.Cleanup(func() { in.Close() })
	lines := bufio.NewScanner(answers)
	return func(line string) string {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatalf("no answer to %s: %v", line, lines.Err())
		}
		return lines.Text()
	}, in, served
}

func TestBadRequests(t *testing.T) {
	ask, in, served := serve(t, adapter.Provider{
		Info: targets.Info{Provider: "p", Stores: []string{"location"}, Layout: "none"},
		OpenLocation: func(context.Context, adapter.Config) (spi.LocationStore, error) {
			return hanging{closed: make(chan struct{})}, nil
		},
	})
	const redis = `"redis":{"host":"h","port":1,"db":0,"tls":false}`
	if got, want := ask(`{"id":1,"op":"open","handle":1,"store":"location",`+redis+`,"new":{"a":1}}`),
		`{"id":1,"result":{"kind":"opened"}}`; got != want {
		t.Errorf("open answers %s, want %s", got, want)
	}
	for _, row := range []struct{ request, kind, message string }{
		{`{"id":7,"op":"location.write","handle":1,"limit":"x"}`, "internal", "limit"},
		{`{"id":7,"op":"fly"}`, "unsupported", `"fly"`},
		{`{"id":7,"op":"surface"}`, "unsupported", "declarations"},
		{`{"id":7,"op":"location.read","handle":9,"key":"k"}`, "internal", "handle 9"},
		{`{"id":7,"op":"relocation.read","handle":1,"reference":"r"}`, "internal", "handle 1"},
		{`{"id":7,"op":"close","handle":9}`, "internal", "handle 9"},
		{`{"id":7,"op":"recheck","of":3}`, "internal", "request 3"},
		{`{"id":7,"op":"location.read","handle":1}`, "internal", `"key"`},
		{`{"id":7,"op":"location.scan","handle":1,"prefix":""}`, "internal", `"limit"`},
		{`{"id":7,"op":"location.write","handle":1,"conditions":[{"kind":"odd","key":"k"}]}`, "internal",
			`conditions[0]: unknown kind "odd"`},
		{`{"id":7,"op":"location.write","handle":1,"mutations":[{"kind":"put","key":"k"}]}`, "internal",
			"mutations[0]: bytes are missing"},
		{`{"id":7,"op":"open","handle":2,"store":"location"}`, "internal", `"redis"`},
		{`{"id":7,"op":"open","handle":2,"store":"relocation",` + redis + `}`, "unsupported", "relocation"},
		{`{"id":7,"op":"open","handle":2,"store":"other",` + redis + `}`, "unsupported", `"other"`},
		{`{"id":7,"op":"open","handle":2,"store":"location","share":5,` + redis + `}`, "internal", "handle 5"},
	} {
		var a struct {
			ID    int
			Error struct{ Kind, Message string }
		}
		got := ask(row.request)
		if err := json.Unmarshal([]byte(got), &a); err != nil || a.ID != 7 || a.Error.Kind != row.kind ||
			!strings.Contains(a.Error.Message, row.message) {
			t.Errorf("%s is answered by %s; want an error %s that says %s", row.request, got, row.kind, row.message)
		}
	}
	if got, want := ask(`{"id":8,"op":"cancel","of":4711}`), `{"id":8,"result":{"kind":"cancelling"}}`; got != want {
		t.Errorf("cancel of an unknown request answers %s, want %s", got, want)
	}
	in.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// At the end of its input, Serve gives up what hangs and closes the stores.
func TestEndOfInput(t *testing.T) {
	store := hanging{reading: make(chan struct{}), closed: make(chan struct{})}
	provider := adapter.Provider{
		OpenLocation: func(context.Context, adapter.Config) (spi.LocationStore, error) { return store, nil },
	}
	requests, in := io.Pipe()
	var out strings.Builder // only the server writes, until it has ended
	served := make(chan error, 1)
	opened := make(chan struct{})
	go func() {
		served <- adapter.Serve(t.Context(), provider, requests, io.MultiWriter(&out, onFirstWrite(opened)))
	}()
	for i, line := range []string{`{"id":1,"op":"open","handle":1,"store":"location","redis":{}}`,
		`{"id":2,"op":"location.read","handle":1,"key":"k"}`} {
		if i == 1 {
			<-opened
		}
		if _, err := fmt.Fprintln(in, line); err != nil {
			t.Fatal(err)
		}
	}
	<-store.reading
	in.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	<-store.closed
	if !strings.Contains(out.String(), `{"id":2,"error":`) {
		t.Errorf("the read that hangs is not answered with an error: %s", out.String())
	}
}

// onFirstWrite closes itself at the first write.
type onFirstWrite chan struct{}

func (c onFirstWrite) Write(p []byte) (int, error) {
	select {
	case <-c:
	default:
		close(c)
	}
	return len(p), nil
}

func TestServeFails(t *testing.T) {
	broken := errors.New("broken pipe")
	in, write := io.Pipe()
	write.CloseWithError(broken)
	if err := adapter.Serve(t.Context(), adapter.Provider{}, in, io.Discard); !errors.Is(err, broken) {
		t.Errorf("a broken input: %v", err)
	}
	out, w := io.Pipe()
	out.CloseWithError(broken)
	if err := adapter.Serve(t.Context(), adapter.Provider{}, strings.NewReader(`{"id":1,"op":"hello"}`), w); !errors.Is(err,
		broken) {
		t.Errorf("a broken output: %v", err)
	}
}
