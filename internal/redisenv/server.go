package redisenv

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
)

// ServerOptions describes a server that is started beside the main one. The zero value is a plain server.
type ServerOptions struct {
	Clock       bool          // a clock of its own, moved with [Server.SetClock]; needs libfaketime
	InitialSkew time.Duration // with Clock: how far ahead of the host the clock starts
	Cluster     bool          // cluster mode, one node with all slots
	Password    string        // clients must give it
	Username    string        // an ACL user with Password; the default user is then off
	TLS         bool          // TLS only, with a certificate of a throw-away authority
	UnixSocket  bool          // listens on a unix socket as well as on TCP
	Image       string        // a container of this image, whatever the main server is
	Config      []string      // further configuration lines, such as "maxmemory 4mb"
}

// ConnInfo is what a provider under test needs to reach a server, credentials included.
type ConnInfo = protocol.ConnInfo

// Server is one running Redis or Valkey.
type Server struct {
	name    string
	kind    string
	version string
	info    ConnInfo
	tls     *tls.Config
	pid     int
	clock   *clock

	stop     func() error // nil for a server that is not ours to stop
	stopOnce sync.Once
	stopErr  error
	done     <-chan struct{} // closed when a local server's process has ended; nil otherwise
}

// Name names the server for people, without credentials: "local redis-server 7.0.15", "container redis:8".
func (s *Server) Name() string { return s.name }

// Kind is "redis" or "valkey".
func (s *Server) Kind() string { return s.kind }

// Version is the server's own version, such as "7.0.15".
func (s *Server) Version() string { return s.version }

// Pid is the process of a local server, 0 for any other.
func (s *Server) Pid() int { return s.pid }

// Done is closed when a local server's process has ended, for whatever reason. It is nil for any other server.
func (s *Server) Done() <-chan struct{} { return s.done }

// Addr is the server's TCP address as host:port; for a server given by a unix:// URL it is the socket's path.
func (s *Server) Addr() string {
	if s.info.Host == "" {
		return s.info.Socket
	}
	return net.JoinHostPort(s.info.Host, strconv.Itoa(s.info.Port))
}

// ConnInfo returns how to reach the server, credentials included.
func (s *Server) ConnInfo() ConnInfo { return s.info }

// Options returns fresh go-redis options for this server.
func (s *Server) Options() *redis.Options {
	o := &redis.Options{
		Network:         "tcp",
		Addr:            s.Addr(),
		DB:              s.info.DB,
		Username:        s.info.Username,
		Password:        s.info.Password,
		DisableIdentity: true,
	}
	if s.info.Host == "" {
		o.Network = "unix"
	}
	if s.tls != nil {
		o.TLSConfig = s.tls.Clone()
	}
	return o
}

// Close stops the server and removes what it left on disk. It may be called more than once, and does nothing to a server
// given by URL.
func (s *Server) Close() error {
	s.stopOnce.Do(func() {
		if s.stop != nil {
			s.stopErr = s.stop()
		}
	})
	return s.stopErr
}

// identify asks the server for its kind and version.
func (s *Server) identify(ctx context.Context, c *redis.Client) error {
	text, err := c.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	s.kind, s.version = kindAndVersion(text)
	return nil
}

func kindAndVersion(info string) (kind, version string) {
	if v := infoField(info, "valkey_version"); v != "" {
		return "valkey", v
	}
	return "redis", infoField(info, "redis_version")
}

// infoField returns one field of an INFO answer, "" when it is not there.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// urlOf renders the connection as a URL.
func urlOf(c ConnInfo) string {
	u := url.URL{Scheme: "redis", Host: net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), Path: "/" + strconv.Itoa(c.DB)}
	if c.TLS {
		u.Scheme = "rediss"
	}
	if c.Username != "" || c.Password != "" {
		u.User = url.UserPassword(c.Username, c.Password)
	}
	return u.String()
}

// CheckURL says what is wrong with the URL of a server, nil if nothing. The error does not quote it, since it may hold a
// password.
func CheckURL(raw string) error {
	_, _, err := parseURL(raw)
	return err
}

func parseURL(raw string) (*url.URL, *redis.Options, error) {
	const form = "use redis://[user:password@]host:port/db, rediss://... or unix:///path"
	u, err := url.Parse(raw) // its error quotes the URL, as that of redis.ParseURL may
	if err != nil {
		return nil, nil, errors.New("--redis: not a URL: " + form)
	}
	o, err := redis.ParseURL(raw)
	if err != nil {
		return nil, nil, errors.New("--redis: not a Redis URL: " + form)
	}
	return u, o, nil
}

// connectURL connects to a server that is not ours.
func connectURL(ctx context.Context, raw string, so ServerOptions) (*Server, error) {
	u, opts, err := parseURL(raw)
	if err != nil {
		return nil, err
	}
	masked := u.Redacted()
	s := &Server{
		name: masked,
		tls:  opts.TLSConfig,
		info: ConnInfo{DB: opts.DB, Username: opts.Username, Password: opts.Password, TLS: opts.TLSConfig != nil, URL: raw},
	}
	if opts.Network == "unix" {
		s.info.Socket = opts.Addr
	} else {
		host, port, err := net.SplitHostPort(opts.Addr)
		if err == nil {
			s.info.Host = host
			s.info.Port, err = strconv.Atoi(port)
		}
		if err != nil {
			return nil, fmt.Errorf("--redis %s: the host and port are not valid", masked)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c := s.plainClient()
	defer c.Close()
	if err := s.identify(ctx, c); err != nil {
		return nil, fmt.Errorf("--redis %s: %w", masked, noRedis(err))
	}
	if so.Cluster {
		text, err := c.Info(ctx, "cluster").Result()
		if err != nil {
			return nil, fmt.Errorf("--redis %s: %w", masked, err)
		}
		if infoField(text, "cluster_enabled") != "1" {
			return nil, fmt.Errorf("--redis %s: the server is not in cluster mode, which --topology cluster needs", masked)
		}
	}
	return s, nil
}

// clientTLS trusts one authority alone.
func clientTLS(caPEM []byte) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(caPEM)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// noRedis says of a server that answers something else than the protocol of Redis that it is none.
func noRedis(err error) error {
	var reply redis.Error // an error that a Redis answered
	var timeout net.Error
	switch {
	case errors.As(err, &reply):
		return err
	case errors.Is(err, io.EOF) || strings.HasPrefix(err.Error(), "redis: "):
		return fmt.Errorf("what listens there does not speak the protocol of Redis (%w)", err)
	case errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no Redis answers there in time (%w)", err)
	}
	return err
}
