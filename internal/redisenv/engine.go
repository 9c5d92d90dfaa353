package redisenv

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// Labels of our containers.
const (
	ownerLabel = "zlink-conformance.owner" // the process that they belong to
	runLabel   = "zlink-conformance.run"
)

const engineLimit = time.Second // a Docker engine that is there answers a ping in milliseconds

// withEngine calls f with a client of the Docker engine that DOCKER_HOST names, or of the one at a usual place.
func withEngine(ctx context.Context, f func(*client.Client) error) error {
	c, err := engine(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

func engine(ctx context.Context) (*client.Client, error) {
	if host := os.Getenv(client.EnvOverrideHost); host != "" {
		c, err := pingedEngine(ctx, host)
		if err != nil {
			return nil, fmt.Errorf("the Docker engine at DOCKER_HOST=%s does not answer: %w", host, err)
		}
		return c, nil
	}
	var first error
	for _, host := range usualEngines() {
		c, err := pingedEngine(ctx, host)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("no Docker engine answers (DOCKER_HOST is not set): %w", first)
}

// usualEngines lists the default address and the sockets of engines that run without root, where they exist.
func usualEngines() []string {
	hosts := []string{client.DefaultDockerHost}
	home, _ := os.UserHomeDir()
	for _, path := range []string{
		filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "docker.sock"),
		filepath.Join(home, ".docker", "run", "docker.sock"),
		fmt.Sprintf("/run/user/%d/docker.sock", os.Getuid()),
	} {
		if _, err := os.Stat(path); err == nil && filepath.IsAbs(path) {
			hosts = append(hosts, "unix://"+path)
		}
	}
	return hosts
}

func pingedEngine(ctx context.Context, host string) (*client.Client, error) {
	c, err := client.New(client.FromEnv, client.WithHost(host))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, engineLimit)
	defer cancel()
	if _, err := c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// dockerReachable checks the engine, within about a second.
func dockerReachable(ctx context.Context) error {
	return withEngine(ctx, func(*client.Client) error { return nil })
}

// imagePresent returns nil when the engine has the image, so that nothing must be pulled.
func imagePresent(ctx context.Context, image string) error {
	return withEngine(ctx, func(c *client.Client) error {
		ctx, cancel := context.WithTimeout(ctx, engineLimit)
		defer cancel()
		if _, err := c.ImageInspect(ctx, image); err != nil {
			return &missingImage{image, err}
		}
		return nil
	})
}

// missingImage says that the engine does not have an image.
type missingImage struct {
	image string
	cause error
}

func (m *missingImage) Error() string {
	return fmt.Sprintf("Docker has no image %s yet (docker pull %s, or --redis docker)", m.image, m.image)
}

func (m *missingImage) Unwrap() error { return m.cause }

// containerHosts lists the hosts at which containers' ports may be reached from here. The library knows one; where it
// believes us to be in a container, and the engine is on this machine, our own loopback is the other.
func containerHosts(ctx context.Context) ([]string, error) {
	p, err := testcontainers.NewDockerProvider()
	if err != nil {
		return nil, err
	}
	defer p.Close()
	host, err := p.DaemonHost(ctx)
	if err != nil {
		return nil, err
	}
	if host == "localhost" { // some systems try ::1 first, where nothing listens
		host = loopback
	}
	hosts := []string{host}
	err = withEngine(ctx, func(c *client.Client) error {
		if !isLoopback(host) && !strings.HasPrefix(c.DaemonHost(), "tcp://") {
			hosts = append(hosts, loopback)
		}
		return nil
	})
	return hosts, err
}

const loopback = "127.0.0.1"

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// sweepContainers removes containers whose owner was killed before it could, and nothing else.
func sweepContainers(ctx context.Context, log io.Writer) {
	err := withEngine(ctx, func(c *client.Client) error {
		list, err := c.ContainerList(ctx, client.ContainerListOptions{
			All: true, Filters: make(client.Filters).Add("label", ownerLabel)})
		if err != nil {
			return err
		}
		for _, item := range list.Items {
			o, ok := parseOwner(item.Labels[ownerLabel])
			if !ok || !o.gone() {
				continue
			}
			fmt.Fprintf(log, "docker: removing container %.12s, left behind by run %q\n", item.ID, item.Labels[runLabel])
			if _, err := c.ContainerRemove(ctx, item.ID,
				client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // another run may be sweeping as well: no reason not to start
		fmt.Fprintf(log, "docker: removing leftovers: %v\n", err)
	}
}
