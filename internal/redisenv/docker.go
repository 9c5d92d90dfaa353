package redisenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

const (
	containerPort   = 6379
	containerDir    = "/zlink-conformance" // the server's folder inside a container
	cleanerDisabled = "TESTCONTAINERS_RYUK_DISABLED"
	containerReady  = 20 * time.Second // from the container's start to Redis's first answer
)

// serverCommand starts whichever server an image holds, in place of the image's own entry point.
var serverCommand = []string{"sh", "-c",
	`exec "$(command -v redis-server || command -v valkey-server)" ` + containerDir + "/redis.conf"}

// startDocker starts a container. The engine must have been found reachable: the container library falls back to
// another engine without a word when DOCKER_HOST is broken.
func startDocker(ctx context.Context, o Options, so ServerOptions) (s *Server, err error) {
	tclog.SetDefault(log.New(o.Log, "docker: ", 0))
	// The library's cleaner is a container itself: one more image to pull, without which nothing starts. Leftovers are
	// our own business (see sweepContainers), so it runs only for those who ask for it.
	if _, set := os.LookupEnv(cleanerDisabled); !set {
		if err := os.Setenv(cleanerDisabled, "true"); err != nil {
			return nil, err
		}
	}
	if so.Clock || so.UnixSocket {
		return nil, unavailable("a container has neither a clock of its own nor a unix socket that its host can use")
	}
	image := o.Image
	if so.Image != "" {
		image = so.Image
	}
	sweepContainers(ctx, o.Log)
	creating := ctx
	if imagePresent(ctx, image) != nil {
		fmt.Fprintf(o.Log, "docker: pulling image %s\n", image)
	} else {
		// Given up half-way, the engine would go on to create a container that nobody knows of. Without a download it takes
		// a moment only, and it is removed below like any other.
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), containerReady)
		defer cancel()
		creating = limited
	}
	hosts, err := containerHosts(ctx)
	if err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	s = &Server{}
	s.info = ConnInfo{Username: so.Username, Password: so.Password, TLS: so.TLS}
	p := places{port: containerPort, dir: containerDir}
	files := map[string][]byte{"redis.conf": []byte(configFile(p, so))}
	removeDir := func() error { return nil }
	if so.TLS {
		dir, err := newServerDir(o.RunID)
		if err != nil {
			return nil, err
		}
		removeDir = func() error { return os.RemoveAll(dir) }
		certs, err := newCertificates(hosts...)
		if err == nil {
			err = certs.write(dir)
		}
		if err != nil {
			return nil, errors.Join(err, removeDir())
		}
		for name, content := range certs {
			files[name] = content
		}
		s.tls = clientTLS(certs[caFile])
		s.info.CAFile = filepath.Join(dir, caFile)
	}
	c, err := testcontainers.Run(creating, image, containerRequest(o, hosts, files))
	s.stop = func() error { return errors.Join(removeContainer(c), removeDir()) }
	if err == nil {
		err = s.awaitContainer(ctx, c, hosts)
	}
	if err == nil {
		err = s.settle(ctx, so)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("container of image %s did not start "+
			"(is it a Redis or Valkey image that this engine has or can pull?): %w", image, err), s.Close())
	}
	s.name = fmt.Sprintf("container %s (%s %s)", image, s.kind, s.version)
	fmt.Fprintf(o.Log, "redis: started %s on %s\n", s.name, s.Addr())
	return s, nil
}

// removeContainer returns when the container is gone. Its context is its own, because the run's may be over.
func removeContainer(c *testcontainers.DockerContainer) error {
	if c == nil {
		return nil
	}
	// Nothing in it is worth a polite end.
	if err := testcontainers.TerminateContainer(c, testcontainers.StopTimeout(0)); err != nil {
		return err
	}
	// The engine removes it by itself when it stops, and the library is content when that has begun.
	return poll(context.Background(), stopGrace, func() (bool, error) {
		_, err := c.Inspect(context.Background())
		return err != nil, nil
	})
}

// containerRequest describes the container.
func containerRequest(o Options, hosts []string, files map[string][]byte) testcontainers.CustomizeRequestOption {
	port := network.MustParsePort(strconv.Itoa(containerPort) + "/tcp")
	return func(req *testcontainers.GenericContainerRequest) error {
		req.Entrypoint = serverCommand
		req.ExposedPorts = []string{port.String()}
		req.Labels = map[string]string{ownerLabel: self().String(), runLabel: o.RunID}
		for name, content := range files {
			req.Files = append(req.Files, testcontainers.ContainerFile{
				Reader: bytes.NewReader(content), ContainerFilePath: containerDir + "/" + name, FileMode: 0o600})
		}
		req.ConfigModifier = func(c *container.Config) { c.User = "0" } // may read those files in every image
		req.HostConfigModifier = func(h *container.HostConfig) {
			h.AutoRemove = true
			// A server without a password belongs on no network, unless that is the only way to it.
			if !slices.ContainsFunc(hosts, func(h string) bool { return !isLoopback(h) }) {
				h.PortBindings = network.PortMap{port: {{HostIP: netip.MustParseAddr("127.0.0.1")}}}
			}
		}
		return nil
	}
}

// awaitContainer learns the server's address and waits for its first answer. The port alone tells nothing: the engine
// opens it before the server does.
func (s *Server) awaitContainer(ctx context.Context, c *testcontainers.DockerContainer, hosts []string) error {
	port, err := c.MappedPort(ctx, strconv.Itoa(containerPort)+"/tcp")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, containerReady)
	defer cancel()
	type answer struct {
		info ConnInfo
		err  error
	}
	answers := make(chan answer, len(hosts))
	for _, host := range hosts {
		at := &Server{info: s.info, tls: s.tls}
		at.info.Host, at.info.Port = host, int(port.Num())
		go func() {
			var last error
			err := poll(ctx, containerReady, func() (bool, error) {
				if last = at.greet(ctx); last != nil && !c.IsRunning() {
					return false, errors.New("the container has ended")
				}
				return last == nil, nil
			})
			if err != nil {
				err = fmt.Errorf("%s: %w (last answer: %v)", at.Addr(), err, last)
			}
			answers <- answer{at.info, err}
		}()
	}
	var errs []error
	for range hosts {
		a := <-answers
		if a.err == nil {
			s.info = a.info
			s.info.URL = urlOf(s.info)
			return nil
		}
		errs = append(errs, a.err)
	}
	return errors.Join(errs...)
}

// greet makes one attempt to reach the container's server, and makes sure that it is this one.
func (s *Server) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c := s.plainClient()
	defer c.Close()
	text, err := c.Info(ctx, "server").Result()
	if err == nil && infoField(text, "config_file") != containerDir+"/redis.conf" {
		err = errors.New("another server answers")
	}
	return err
}
