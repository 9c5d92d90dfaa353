package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	adapter "github.com/zlink-systems/zlink-conformance/adapters/go"
	"github.com/zlink-systems/zlink-conformance/internal/targets/process"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// TestMain runs this binary as an adapter process if its first argument asks
// for one: "adapter:" and a mode.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if mode, ok := strings.CutPrefix(os.Args[1], "adapter:"); ok {
			runAdapter(mode)
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

func runAdapter(mode string) {
	switch mode {
	case "slow-clock": // to start under another host clock takes as long as the test waits
		if os.Getenv("FAKETIME_TIMESTAMP_FILE") != "" {
			_, _ = io.Copy(io.Discard, os.Stdin)
			return
		}
		runAdapter("serve")
	case "serve":
		if err := adapter.Serve(context.Background(), fakeProvider(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "opens-late": // the first process, which makes the file, answers no open until its stdin ends
		provider := fakeProvider()
		if f, err := os.OpenFile(os.Args[2], os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			f.Close()
			provider.OpenLocation = func(ctx context.Context, _ adapter.Config) (spi.LocationStore, error) {
				fmt.Fprintln(os.Stderr, "opening")
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}
		if err := adapter.Serve(context.Background(), provider, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "exit-early":
		fmt.Fprintln(os.Stderr, "no runtime found")
		os.Exit(3)
	case "silent":
		fmt.Println("Hello, I am a program.")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "close-stdout":
		os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "raw":
		rawAdapter(1)
	case "long-name":
		fmt.Printf(`{"id":1,"result":{"kind":"hello","protocol":1,"provider":"%s","stores":["location"],"layout":"none"}}`+"\n",
			strings.Repeat("n", 1<<20))
		select {}
	case "long-error":
		fmt.Printf(`{"id":1,"error":{"kind":"internal","message":"%s"}}`+"\n", strings.Repeat("n", 1<<20))
		select {}
	case "version-2":
		rawAdapter(2)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, os.Interrupt)
		grandchild := exec.Command(os.Args[0], "adapter:grandchild")
		grandchild.Stdout, grandchild.Stderr = os.Stdout, os.Stderr
		if err := grandchild.Start(); err != nil {
			panic(err)
		}
		rawAdapter(1)
		select {}
	case "grandchild":
		listenStubbornly()
		select {}
	case "deaf":
		listenStubbornly()
		rawAdapter(1)
		select {}
	case "parent": // a harness that starts a deaf adapter
		tt, err := process.Start(context.Background(), []string{os.Args[0], "adapter:deaf"}, process.Options{})
		if err != nil {
			panic(err)
		}
		for ; ; time.Sleep(time.Millisecond) { // the log comes through another pipe than the hello
			if lines, _ := tt.Log(0); len(lines) > 0 {
				fmt.Println(lines[0])
				select {}
			}
		}
	default:
		panic("unknown mode " + mode)
	}
}

// listenStubbornly ignores polite signals and listens, so that a test can see
// whether the process is still there.
func listenStubbornly() {
	signal.Ignore(syscall.SIGTERM, os.Interrupt)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "listening", l.Addr())
}

// rawAdapter answers without the kit. The key of a location.read tells it how
// to misbehave.
func rawAdapter(protocol int) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	answer := func(id int64, result string) { fmt.Printf(`{"id":%d,"result":%s}`+"\n", id, result) }
	const missing = `{"kind":"missing","storeNow":7}`
	for in.Scan() {
		var r struct {
			ID, Of  int64
			Op, Key string
		}
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			panic(err)
		}
		switch r.Op {
		case "hello":
			answer(r.ID, fmt.Sprintf(`{"kind":"hello","protocol":%d,"provider":"raw","language":"go","version":"1",`+
				`"stores":["location"],"layout":"none","capabilities":[]}`, protocol))
			continue
		case "open":
			answer(r.ID, `{"kind":"opened","extra":[1]}`)
			continue
		case "close":
			answer(r.ID, `{"kind":"closed"}`)
			continue
		case "cancel":
			answer(r.Of, missing) // too late
			answer(r.ID, `{"kind":"cancelling"}`)
			continue
		}
		how, what, _ := strings.Cut(r.Key, ":")
		switch how {
		case "silent":
		case "exit":
			fmt.Fprintln(os.Stderr, "last words")
			code, _ := strconv.Atoi(what)
			os.Exit(code)
		case "kill":
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
		case "line": // an unasked line before a good answer
			fmt.Println(what)
			answer(r.ID, missing)
		case "answer": // this line alone
			fmt.Println(strings.ReplaceAll(what, "$ID", strconv.FormatInt(r.ID, 10)))
		case "long": // a line of 100 MiB that starts with what, and then a good answer
			fmt.Print(strings.ReplaceAll(what, "$ID", strconv.FormatInt(r.ID, 10)))
			chunk := strings.Repeat("x", 1<<20)
			for range 100 {
				fmt.Print(chunk)
			}
			fmt.Println()
			answer(r.ID, missing)
		case "flood": // much more than the pipe and the log hold, and then a good answer
			chunk := strings.Repeat("x", 1<<20)
			for i := range 3_000 {
				fmt.Fprintln(os.Stderr, "stderr", i, chunk[:1000])
			}
			fmt.Fprintln(os.Stderr, chunk)
			answer(r.ID, missing)
		default:
			answer(r.ID, missing)
		}
	}
}
