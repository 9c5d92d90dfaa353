//go:build unix

package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	adapter "github.com/zlink-systems/zlink-conformance/adapters/go"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// hostile is text that tries to leave the place where a report shows it.
const hostile = "<script>alert(1)</script>]]></failure>\x1b[2J\x1b[31m\x00\u202e../../escaped\nCONFORMS  1 case: 1 pass"

// misbehave is the adapter of all rows: the reference provider, served through
// the protocol, with one fault. dir is the row's folder, which also marks the
// process for the test.
func misbehave(mode, dir string) error {
	p := refprovider.New()
	out := &lockedFile{f: os.Stdout}
	switch mode {
	case "good":
	case "flood-stdout":
		p = onOpen(p, 1, func(targets.StoreConfig) error { go flood(out, 200<<20); return nil })
	case "flood-stderr":
		p = onOpen(p, 1, func(targets.StoreConfig) error { go flood(&lockedFile{f: os.Stderr}, 200<<20); return nil })
	case "huge-line":
		p = onOpen(p, 1, func(targets.StoreConfig) error { return hugeLine(out, "") })
	case "huge-message":
		p = onOpen(p, 1, func(targets.StoreConfig) error { return hugeLine(out, `{"id":999999,"result":{"kind":"`) })
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, os.Interrupt)
		child := exec.Command(os.Args[0], "adapter:grandchild", dir)
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return err
		}
		if err := adapter.Serve(context.Background(), p, os.Stdin, out); err != nil {
			return err
		}
		select {} // although stdin was closed
	case "grandchild":
		signal.Ignore(syscall.SIGTERM, os.Interrupt)
		select {}
	case "late":
		p = onLocation(p, func(l *location) {
			l.read = func(ctx context.Context, k spi.Key) (spi.ReadResult, error) {
				time.Sleep(1500 * time.Millisecond)
				return l.LocationStore.Read(context.WithoutCancel(ctx), k)
			}
		})
	case "slow-start":
		time.Sleep(3 * time.Second)
	case "crash-loop":
		p = onOpen(p, 1, func(targets.StoreConfig) error { return crash() })
	case "dies-once":
		p = onOpen(p, 20, func(targets.StoreConfig) error {
			f, err := os.OpenFile(filepath.Join(dir, "died"), os.O_CREATE|os.O_EXCL, 0o600)
			if errors.Is(err, os.ErrExist) {
				return nil
			}
			return errors.Join(f.Close(), crash())
		})
	case "leak":
		p = onLocation(p, func(l *location) { l.close = func() error { return nil } })
	case "kill-redis":
		p = onOpen(p, 20, killRedis)
	case "hang":
		p = onLocation(p, func(l *location) {
			l.read = func(ctx context.Context, _ spi.Key) (spi.ReadResult, error) { select {} }
		})
	case "silent": // after its hello
		silent := func(targets.StoreConfig) error { select {} }
		p = onOpenRelocation(onOpen(p, 0, silent), silent)
	case "silent-relocation":
		p = onOpenRelocation(p, func(targets.StoreConfig) error { select {} })
	case "blab": // shows what it knows wherever it can, and fails
		p = onOpen(p, 1, func(c targets.StoreConfig) error { return record(dir) })
		p = onOpen(p, 0, func(c targets.StoreConfig) error {
			fmt.Fprintf(os.Stderr, "connecting to %s as %q with %q\n", c.Redis.URL, c.Redis.Username, c.Redis.Password)
			return nil
		})
		p = onLocationWith(p, func(c targets.StoreConfig, l *location) {
			l.read = func(context.Context, spi.Key) (spi.ReadResult, error) {
				return nil, &spi.Error{Kind: spi.KindStoreFailure, Type: c.Redis.Password,
					Message: "no answer from " + c.Redis.URL}
			}
		})
	case "hostile":
		p.Info.Provider, p.Info.Version, p.Info.Language = hostile, hostile, hostile
		p.Info.Capabilities = append(p.Info.Capabilities, hostile)
		p = onLocation(p, func(l *location) {
			l.read = func(context.Context, spi.Key) (spi.ReadResult, error) {
				fmt.Fprintln(os.Stderr, hostile)
				return nil, &spi.Error{Kind: spi.KindStoreFailure, Type: hostile, Message: hostile}
			}
		})
	default:
		return fmt.Errorf("unknown mode %q", mode)
	}
	return adapter.Serve(context.Background(), p, os.Stdin, out)
}

// onOpen calls f in the n-th opening of a Location Store, in each if n is 0.
func onOpen(p targets.Provider, n int64, f func(targets.StoreConfig) error) targets.Provider {
	var opened atomic.Int64
	open := p.OpenLocation
	p.OpenLocation = func(ctx context.Context, c targets.StoreConfig) (spi.LocationStore, error) {
		if i := opened.Add(1); n == 0 || i == n {
			if err := f(c); err != nil {
				return nil, err
			}
		}
		return open(ctx, c)
	}
	return p
}

// onOpenRelocation calls f in each opening of a Relocation Store.
func onOpenRelocation(p targets.Provider, f func(targets.StoreConfig) error) targets.Provider {
	open := p.OpenRelocation
	p.OpenRelocation = func(ctx context.Context, c targets.StoreConfig) (spi.RelocationStore, error) {
		if err := f(c); err != nil {
			return nil, err
		}
		return open(ctx, c)
	}
	return p
}

// location is a Location Store with replaced operations.
type location struct {
	spi.LocationStore
	read  func(context.Context, spi.Key) (spi.ReadResult, error)
	close func() error
}

func (l *location) Read(ctx context.Context, k spi.Key) (spi.ReadResult, error) {
	return l.read(ctx, k)
}
func (l *location) Close() error { return l.close() }

func onLocation(p targets.Provider, change func(*location)) targets.Provider {
	return onLocationWith(p, func(_ targets.StoreConfig, l *location) { change(l) })
}

func onLocationWith(p targets.Provider, change func(targets.StoreConfig, *location)) targets.Provider {
	p.Info.Capabilities = nil // a shared connection needs the reference's own store
	open := p.OpenLocation
	p.OpenLocation = func(ctx context.Context, c targets.StoreConfig) (spi.LocationStore, error) {
		store, err := open(ctx, c)
		if err != nil {
			return nil, err
		}
		l := &location{LocationStore: store, read: store.Read, close: store.Close}
		change(c, l)
		return l, nil
	}
	return p
}

func crash() error {
	fmt.Fprintln(os.Stderr, "last words: out of memory")
	os.Exit(7)
	return nil
}

// killRedis ends the server that the store is to be opened on, as kill -9 does.
func killRedis(c targets.StoreConfig) error {
	options, err := redis.ParseURL(c.Redis.URL)
	if err != nil {
		return err
	}
	client := redis.NewClient(options)
	defer client.Close()
	info, err := client.InfoMap(context.Background(), "server").Result()
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(info["Server"]["process_id"])
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// record writes down what the process was started with.
func record(dir string) error {
	text := strings.Join(append(os.Args, os.Environ()...), "\n")
	return os.WriteFile(filepath.Join(dir, "started-with"), []byte(text), 0o600)
}

// lockedFile writes whole lines of several goroutines.
type lockedFile struct {
	mu sync.Mutex
	f  *os.File
}

func (l *lockedFile) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Write(b)
}

// flood writes lines of one byte to 1 MiB, n bytes in all.
func flood(out *lockedFile, n int) {
	for size := 1; n > 0; n -= size {
		if size *= 2; size > 1<<20 {
			size = 1
		}
		if _, err := out.Write(append(bytes.Repeat([]byte("x"), size), '\n')); err != nil {
			return
		}
	}
}

// hugeLine writes a line of 1 GiB that starts with head.
func hugeLine(out *lockedFile, head string) error {
	out.mu.Lock()
	defer out.mu.Unlock()
	if _, err := out.f.WriteString(head); err != nil {
		return err
	}
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range 1 << 10 {
		if _, err := out.f.Write(block); err != nil {
			return err
		}
	}
	_, err := out.f.WriteString("\n")
	return err
}
