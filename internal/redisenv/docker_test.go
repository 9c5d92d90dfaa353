package redisenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// localImage is what scripts/redis-image.sh builds.
const localImage = "zlink-conformance-redis:local"

// testImage finds an image that needs no download; without one, or without an engine, the test is skipped.
func testImage(t *testing.T) string {
	t.Helper()
	if err := dockerReachable(t.Context()); err != nil {
		t.Skip("skipped:", err)
	}
	for _, image := range []string{localImage, DefaultImage} {
		if imagePresent(t.Context(), image) == nil {
			return image
		}
	}
	t.Skipf("skipped: neither %s (scripts/redis-image.sh) nor %s is on this Docker engine", localImage, DefaultImage)
	return ""
}

// containerOwners returns the owner labels of all our containers, by container.
func containerOwners(t *testing.T) map[string]string {
	t.Helper()
	owners := map[string]string{}
	err := withEngine(t.Context(), func(c *client.Client) error {
		list, err := c.ContainerList(t.Context(),
			client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", ownerLabel)})
		for _, item := range list.Items {
			owners[item.ID] = item.Labels[ownerLabel]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return owners
}

func TestDocker(t *testing.T) {
	image := testImage(t)
	var log bytes.Buffer
	e, err := Start(t.Context(), Options{Mode: ModeDocker, Image: image, Log: &log, RunID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	s := e.Main()
	if !strings.HasPrefix(s.Name(), "container "+image) || s.Version() == "" {
		t.Errorf("name %q, version %q", s.Name(), s.Version())
	}
	if pong, err := newClient(t, s.Options()).Ping(t.Context()).Result(); pong != "PONG" {
		t.Error(pong, err)
	}
	t.Run("password over TLS", func(t *testing.T) {
		x := extra(t, e, ServerOptions{TLS: true, Username: "tester", Password: "secret word"})
		if err := newClient(t, x.Options()).Ping(t.Context()).Err(); err != nil {
			t.Error(err)
		}
		if strings.Contains(log.String(), "secret word") {
			t.Error("the log shows the password")
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(x.ConnInfo().CAFile); !errors.Is(err, os.ErrNotExist) {
			t.Error("the authority's file is there after Close:", err)
		}
	})
	t.Run("cluster", func(t *testing.T) {
		x := extra(t, e, ServerOptions{Cluster: true})
		checkOneNode(t, x, newClient(t, x.Options()))
	})
	t.Run("clock", func(t *testing.T) { // falls back to a local server
		x := extra(t, e, ServerOptions{Clock: true})
		if x.Pid() == 0 {
			t.Error("not a local server")
		}
	})
	mine := func() (n int) {
		for _, o := range containerOwners(t) {
			if o == self().String() {
				n++
			}
		}
		return n
	}
	if n := mine(); n != 2 {
		t.Errorf("%d containers, want the main one and the cluster", n)
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := mine(); n != 0 {
		t.Errorf("%d containers are there after Close", n)
	}
	if _, err := e.Extra(t.Context(), ServerOptions{}); err == nil {
		t.Error("a server starts after Close")
	}
}

func TestDockerImageThatIsNoRedis(t *testing.T) {
	testImage(t)
	_, err := Start(t.Context(), Options{Mode: ModeDocker, Image: "invalid.invalid/zlink-conformance/none:none"})
	if err == nil || !strings.Contains(err.Error(), "invalid.invalid/zlink-conformance/none:none") {
		t.Error(err)
	}
}

func TestAutoPrefersDocker(t *testing.T) {
	image := testImage(t)
	e, err := Start(t.Context(), Options{Image: image})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if !strings.HasPrefix(e.Main().Name(), "container ") {
		t.Error(e.Main().Name())
	}
}

func TestAutoFallsBackToLocal(t *testing.T) {
	if _, err := FindServer(); err != nil {
		t.Skip("skipped:", err)
	}
	t.Setenv(client.EnvOverrideHost, "tcp://127.0.0.1:1")
	var log bytes.Buffer
	e, err := Start(t.Context(), Options{Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if !strings.HasPrefix(e.Main().Name(), "local ") {
		t.Error(e.Main().Name())
	}
	if !strings.Contains(log.String(), "DOCKER_HOST=tcp://127.0.0.1:1") {
		t.Errorf("the log does not say why: %s", &log)
	}
}

// A start that is given up, at whatever moment, leaves no container.
func TestDockerStartGivenUp(t *testing.T) {
	image := testImage(t)
	for i, after := range []int{50, 150, 250, 350, 450, 600} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(after)*time.Millisecond)
		run := fmt.Sprintf("given-up-%d-%d", os.Getpid(), i)
		e, err := Start(ctx, Options{Mode: ModeDocker, Image: image, Log: io.Discard, RunID: run})
		cancel()
		if err == nil {
			e.Close()
		}
		err = withEngine(t.Context(), func(c *client.Client) error {
			list, err := c.ContainerList(t.Context(), client.ContainerListOptions{
				All: true, Filters: make(client.Filters).Add("label", runLabel+"="+run)})
			if err == nil && len(list.Items) > 0 {
				t.Errorf("given up after %d ms, the start left %d containers (%s)", after, len(list.Items), list.Items[0].Status)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
