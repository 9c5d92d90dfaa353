package process_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/internal/targets/process"
	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func start(t *testing.T, mode string, options process.Options) targets.Target {
	t.Helper()
	tt, err := tryStart(t, mode, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tt.Close(); err != nil {
			t.Error(err)
		}
	})
	return tt
}

func tryStart(t *testing.T, mode string, options process.Options) (targets.Target, error) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return process.Start(t.Context(), []string{self, "adapter:" + mode}, options)
}

// wantTrouble checks that err is a TroubleError of one line with all the words,
// and returns it.
func wantTrouble(t *testing.T, err error, words ...string) *targets.TroubleError {
	t.Helper()
	var trouble *targets.TroubleError
	if !errors.As(err, &trouble) {
		t.Fatalf("got %v, want a TroubleError", err)
	}
	for _, w := range words {
		if !strings.Contains(trouble.What, w) {
			t.Errorf("the trouble %q does not say %q", trouble.What, w)
		}
	}
	if strings.Contains(trouble.What, "\n") {
		t.Errorf("the trouble %q has more than one line", trouble.What)
	}
	return trouble
}

func TestProcess(t *testing.T) {
	testTarget(t, start(t, "serve", process.Options{}))
}

func TestStartTrouble(t *testing.T) {
	ctx := t.Context()
	for _, command := range []string{"zlink-no-such-command", "/no/such/adapter"} {
		_, err := process.Start(ctx, []string{command}, process.Options{})
		wantTrouble(t, err, command, "not found")
	}
	_, err := process.Start(ctx, []string{os.TempDir()}, process.Options{})
	wantTrouble(t, err, "cannot be started")
	for _, command := range [][]string{nil, {""}} {
		if _, err := process.Start(ctx, command, process.Options{}); err == nil || !strings.Contains(err.Error(), "empty") {
			t.Errorf("Start(%q): %v", command, err)
		}
	}

	_, err = tryStart(t, "exit-early", process.Options{})
	trouble := wantTrouble(t, err, "exit status 3", "before it said hello")
	if !cmp.Equal(trouble.Log, []string{"no runtime found"}) {
		t.Errorf("the trouble shows the log %q", trouble.Log)
	}
	_, err = tryStart(t, "version-2", process.Options{})
	wantTrouble(t, err, "version 2", "version 1")
	_, err = tryStart(t, "long-name", process.Options{}.With(nil, 100*time.Millisecond))
	wantTrouble(t, err, "hello", "longer than 200 bytes")
	_, err = tryStart(t, "long-error", process.Options{}.With(nil, 100*time.Millisecond))
	if trouble = wantTrouble(t, err, "hello", "nnn"); len(trouble.What) > 1100 {
		t.Errorf("the trouble has %d bytes", len(trouble.What))
	}
	_, err = tryStart(t, "silent", process.Options{StartTimeout: 500 * time.Millisecond})
	trouble = wantTrouble(t, err, "did not say hello within 500ms")
	if log := strings.Join(trouble.Log, "\n"); !strings.Contains(log, "Hello, I am a program.") {
		t.Errorf("the trouble shows the log %q, want the stray line", log)
	}
	_, err = tryStart(t, "close-stdout", process.Options{})
	wantTrouble(t, err, "exit status 0", "before it said hello")
}

func openRaw(t *testing.T, tt targets.Target) targets.Location {
	t.Helper()
	loc, err := tt.OpenLocation(t.Context(), fakeConfig)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// A message that is none is noted with its text and disturbs nothing else.
func TestStrayLines(t *testing.T) {
	tt := start(t, "raw", process.Options{})
	loc := openRaw(t, tt)
	for _, row := range []struct{ line, note string }{
		{"hello world", `is no message (its log belongs on stderr): "hello world"`},
		{"", ""},
		{"17", `no message`},
		{`{"id":`, `broken message`},
		{`{"result":{"kind":"missing"}}`, `message without an id`},
		{`{"id":4711,"result":{"kind":"missing"}}`, `answered request 4711, which does not await an answer`},
	} {
		_, mark := tt.Log(0)
		r, err := loc.Read(t.Context(), spi.Key("line:"+row.line))
		if err != nil || r != (spi.Missing{StoreNow: 7}) {
			t.Errorf("after the line %q: %v, %v", row.line, r, err)
		}
		lines, _ := tt.Log(mark)
		if got := strings.Join(lines, "\n"); !strings.Contains(got, row.note) || (row.note == "") != (got == "") {
			t.Errorf("after the line %q the log is %q, want %q", row.line, got, row.note)
		}
	}
}

func TestWrongAnswers(t *testing.T) {
	loc := openRaw(t, start(t, "raw", process.Options{}))
	for _, row := range []struct{ answer, want string }{
		{`{"id":$ID}`, `either the field "result" or "error"`},
		{`{"id":$ID,"result":{"kind":"missing","storeNow":1},"error":{"kind":"timeout"}}`,
			`either the field "result" or "error"`},
		{`{"id":$ID,"result":{}}`, `"kind" is missing`},
		{`{"id":$ID,"result":{"kind":"applied"}}`, `"kind" is "applied"`},
		{`{"id":$ID,"result":{"kind":"missing"}}`, `"storeNow" is missing`},
		{`{"id":$ID,"result":{"kind":"missing","storeNow":"7"}}`, `storeNow`},
		{`{"id":$ID,"result":{"kind":"missing","storeNow":1.5}}`, `storeNow`},
		{`{"id":$ID,"result":{"kind":"found","storeNow":1}}`, `"value" is missing`},
		{`{"id":$ID,"result":{"kind":"found","storeNow":1,"value":{"version":"v","expiresAt":0}}}`,
			`"value.bytes.b64" is missing`},
		{`{"id":$ID,"result":{"kind":"found","storeNow":1,"value":{"bytes":{"b64":"!"},"version":"v","expiresAt":0}}}`, `base64`},
		{`{"id":$ID,"result":{"kind":"found","storeNow":1,"value":{"bytes":{"b64":""},"version":"\ud800","expiresAt":0}}}`,
			`not valid Unicode`},
		{`{"id":$ID,"result":{"kind":"found","storeNow":1,"value":{"bytes":{"b64":""},` +
			`"version":{"fill":{"length":1,"seed":1}},"expiresAt":0}}}`, `"b64"`},
		{`{"id":$ID,"error":{"kind":"oops","message":"m"}}`, `"error.kind" is "oops"`},
		{`{"id":$ID,"result":{"kind":"missing",`, `unexpected end`},
	} {
		_, err := loc.Read(t.Context(), spi.Key("answer:"+row.answer))
		wantTrouble(t, err, "location.read", row.want)
	}
	r, err := loc.Read(t.Context(), "answer:"+
		`  { "unknown" : {}, "result":{"kind":"found","new":1,"storeNow":1,"value":{"bytes":{"b64":""},`+
		`"version":{"b64":"/w=="},"expiresAt":0}},"id":$ID}`)
	if diff := cmp.Diff(spi.ReadResult(spi.Found{Value: spi.Value{Bytes: []byte{}, Version: "\xff"}, StoreNow: 1}),
		r); err != nil || diff != "" {
		t.Errorf("an answer with unknown fields: %v\n%s", err, diff)
	}
}

// Silence is broken off by the harness alone, and a late answer is no fault.
// "unsupported" is the target's own word, unless it may have no way to say what
// it was asked.
func TestUnsupported(t *testing.T) {
	loc, err := start(t, "serve", process.Options{}).OpenLocation(t.Context(), fakeConfig)
	if err != nil {
		t.Fatal(err)
	}
	_, plain := loc.Read(t.Context(), "unsupported")
	_, text := loc.Read(t.Context(), "unsupported\xff")
	_, _, hold := loc.ReadHeld(t.Context(), "unsupported")
	if spi.KindOf(plain) != spi.KindUnsupported {
		t.Errorf("an ordinary key: %v, want an error of kind unsupported", plain)
	}
	for want, err := range map[string]error{"no valid Unicode": text, "buffer": hold} {
		if _, ok := errors.AsType[*targets.InexpressibleError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an InexpressibleError that says %q", err, want)
		}
	}
	for _, ms := range []float64{1, -1, 1e18, 0.5, 1e19} {
		r := protocol.Request{RetentionMs: &ms}
		if got, want := r.Unusual() == "", ms != 0.5 && ms != 1e19; got != want {
			t.Errorf("a retention of %g ms is usual: %t, want %t", ms, got, want)
		}
	}
}

func TestSilence(t *testing.T) {
	tt := start(t, "raw", process.Options{})
	loc := openRaw(t, tt)
	ctx, abandon := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { abandon(fmt.Errorf("%w: out of time", targets.ErrAbandoned)) })
	_, err := loc.Read(targets.CaseContext(ctx), "silent")
	wantTrouble(t, err, "location.read", "given up unanswered after", "out of time")
	// The raw adapter answers the read when it is cancelled.
	for range 3 {
		if _, err := loc.Read(t.Context(), "x"); err != nil {
			t.Error(err)
		}
	}
	if lines, _ := tt.Log(0); len(lines) != 0 {
		t.Errorf("the late answer was noted: %q", lines)
	}
}

// A process that is stopped since other operations had no answer says nothing of
// the store that was being opened: the next process opens it.
func TestOpenAfterAStopForSilence(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := []string{self, "adapter:opens-late", filepath.Join(t.TempDir(), "started")}
	tt, err := process.Start(t.Context(), command, process.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tt.Close()
	opened := make(chan error)
	go func() {
		_, err := tt.OpenLocation(t.Context(), fakeConfig)
		opened <- err
	}()
	for {
		if lines, _ := tt.Log(0); len(lines) > 0 {
			break
		}
		select {
		case err := <-opened:
			t.Fatalf("the first process answered: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	process.StopForSilence(tt)
	if err := <-opened; err != nil {
		t.Errorf("the next process was not asked: %v", err)
	}
}

func TestDeathAndRestart(t *testing.T) {
	tt := start(t, "raw", process.Options{})
	first := openRaw(t, tt)
	pending := make(chan error)
	go func() {
		_, err := first.Read(t.Context(), "silent")
		pending <- err
	}()
	for i := range 5 {
		loc := openRaw(t, tt)
		_, err := loc.Read(t.Context(), spi.Key(fmt.Sprintf("exit:%d", 40+i)))
		trouble := wantTrouble(t, err, fmt.Sprintf("exit status %d", 40+i), "location.read")
		if len(trouble.Log) == 0 || trouble.Log[len(trouble.Log)-1] != "last words" {
			t.Errorf("the trouble shows the log %q", trouble.Log)
		}
		if i == 0 {
			wantTrouble(t, <-pending, "exit status 40", "location.read")
		}
		_, err = loc.Read(t.Context(), "x")
		wantTrouble(t, err, "ended", "location.read")
	}
	loc := openRaw(t, tt)
	_, err := loc.Read(t.Context(), "kill:")
	wantTrouble(t, err, "location.read")
	for range 2 {
		_, err = tt.OpenLocation(t.Context(), fakeConfig)
		wantTrouble(t, err, "after 5 restarts", "not started any more")
	}
}

func TestFlood(t *testing.T) {
	tt := start(t, "raw", process.Options{})
	loc := openRaw(t, tt)
	if _, err := loc.Read(t.Context(), "flood:"); err != nil {
		t.Fatal(err)
	}
	// stderr may still be on its way.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		lines, _ := tt.Log(0)
		size := 0
		for _, l := range lines {
			size += len(l)
		}
		if len(lines) > 1000 || size > 1000*(4<<10+3) {
			t.Fatalf("the log holds %d lines of %d bytes", len(lines), size)
		}
		if last := lines[len(lines)-1]; strings.HasPrefix(last, "xxxx") && len(last) == 4<<10+3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the last line of the log is %.100q", lines[len(lines)-1])
		}
	}
}

func TestLineOverLimit(t *testing.T) {
	tt := start(t, "raw", process.Options{})
	loc := openRaw(t, tt)
	if _, err := loc.Read(t.Context(), "long:rubbish"); err != nil {
		t.Fatal(err)
	}
	lines, _ := tt.Log(0)
	if len(lines) != 1 || !strings.Contains(lines[0], `"rubbishxxxx`) || len(lines[0]) > 1000 {
		t.Errorf("the log is %q", lines)
	}
	_, err := loc.Read(t.Context(), `long:{"id":$ID,"result":"`)
	wantTrouble(t, err, "location.read", "a line of 104857", "over the limit of 100663296")
}

// Close ends a child that ignores its stdin and SIGTERM, and its own child.
func TestCloseStubborn(t *testing.T) {
	tt := start(t, "stubborn", process.Options{}.With(nil, 300*time.Millisecond))
	openRaw(t, tt)
	var address string
	for deadline := time.Now().Add(20 * time.Second); address == ""; time.Sleep(5 * time.Millisecond) {
		lines, _ := tt.Log(0)
		for _, l := range lines {
			if a, ok := strings.CutPrefix(l, "listening "); ok {
				address = a
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the grandchild did not start")
		}
	}
	for range 2 {
		if err := tt.Close(); err != nil {
			t.Error(err)
		}
	}
	if c, err := net.DialTimeout("tcp", address, 5*time.Second); err == nil {
		c.Close()
		t.Error("the grandchild is still there")
	}
	_, err := tt.OpenLocation(t.Context(), fakeConfig)
	wantTrouble(t, err, "closed")
	lines, _ := tt.Log(0)
	if log := strings.Join(lines, "\n"); !strings.Contains(log, "although its stdin was closed") ||
		!strings.Contains(log, "killed it") {
		t.Errorf("the log is %q", log)
	}
}

func TestCredentialsStayOnThePipe(t *testing.T) {
	tt := start(t, "serve", process.Options{})
	loc := openRaw(t, tt)
	r, err := loc.Read(t.Context(), "environment")
	if err != nil {
		t.Fatal(err)
	}
	got := string(r.(spi.Found).Value.Bytes)
	if strings.Contains(got, fakeConfig.Redis.Password) || !strings.Contains(got, "\nZLINK_CONFORMANCE_PROTOCOL=1\n") {
		t.Errorf("arguments and environment of the child:\n%s", got)
	}
}

func TestParseCommand(t *testing.T) {
	for line, want := range map[string][]string{
		`node my-adapter.js`:             {"node", "my-adapter.js"},
		`"a b"/c 'd "e"' f\ g $HOME *.x`: {"a b/c", `d "e"`, "f g", "$HOME", "*.x"},
		"  x\t'' ":                       {"x", ""},
	} {
		if got, err := process.ParseCommand(line); err != nil || !cmp.Equal(got, want) {
			t.Errorf("ParseCommand(%q) = %q, %v; want %q", line, got, err, want)
		}
	}
	for _, line := range []string{`a "b`, `a 'b`, `a \`, ``, ` `} {
		if got, err := process.ParseCommand(line); err == nil || !strings.Contains(err.Error(), "command") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseCommand(%q) = %q, %v", line, got, err)
		}
	}
}

// Another process is none that there is, and its end is its own.
func TestAnotherProcess(t *testing.T) {
	first := start(t, "serve", process.Options{})
	another, err := first.Another(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	process := func(tt targets.Target) string {
		r, err := openRaw(t, tt).Read(t.Context(), "process")
		if err != nil {
			t.Fatal(err)
		}
		return string(r.(spi.Found).Value.Bytes)
	}
	if one := process(first); one == process(another) {
		t.Errorf("both are the process %s", one)
	}
	if err := another.Close(); err != nil {
		t.Error(err)
	}
	process(first)
}
