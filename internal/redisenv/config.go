package redisenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// places says where a server finds its files and listens; the paths are those that the server sees.
type places struct {
	bind   string // "" = all interfaces
	port   int
	dir    string
	socket string // "" = none
}

// configFile renders the server's configuration. It goes into a file, not on the command line, because it may hold a
// password.
func configFile(p places, o ServerOptions) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`save ""`)
	line("appendonly no")
	line("daemonize no")
	line("protected-mode no")
	line("dir %s", strconv.Quote(p.dir))
	if p.bind != "" {
		line("bind %s", p.bind)
	}
	if o.TLS {
		line("port 0")
		line("tls-port %d", p.port)
		line("tls-cert-file %s", strconv.Quote(p.dir+"/"+certFile))
		line("tls-key-file %s", strconv.Quote(p.dir+"/"+keyFile))
		line("tls-ca-cert-file %s", strconv.Quote(p.dir+"/"+caFile))
		line("tls-auth-clients no")
	} else {
		line("port %d", p.port)
	}
	if p.socket != "" {
		line("unixsocket %s", strconv.Quote(p.socket))
		line("unixsocketperm 700")
	}
	if o.Cluster {
		line("cluster-enabled yes")
		line("cluster-config-file nodes.conf")
	}
	switch {
	case o.Username != "":
		line("user default off")
		line("user %s on %s ~* &* +@all", strconv.Quote(o.Username), strconv.Quote(">"+o.Password))
	case o.Password != "":
		line("requirepass %s", strconv.Quote(o.Password))
	}
	for _, c := range o.Config {
		line("%s", c)
	}
	return b.String()
}

// settle brings a server that accepts connections into the wished state and learns who it is.
func (s *Server) settle(ctx context.Context, o ServerOptions) error {
	c := s.plainClient()
	defer c.Close()
	if err := s.identify(ctx, c); err != nil {
		return err
	}
	if o.Cluster {
		return formCluster(ctx, c, s.info)
	}
	return nil
}

// plainClient is a client for our own questions: no retries, and it keeps to the context.
func (s *Server) plainClient() *redis.Client {
	o := s.Options()
	o.MaxRetries, o.DialerRetries, o.DialTimeout, o.ContextTimeoutEnabled = -1, 1, 2*time.Second, true
	return redis.NewClient(o)
}

// formCluster gives all slots to the one node and waits until it serves them. Redis itself holds a fresh master back
// for two seconds.
func formCluster(ctx context.Context, c *redis.Client, info ConnInfo) error {
	// Clients that discover the cluster must be sent to the address that they can reach, not to the one inside a container.
	ips, err := net.DefaultResolver.LookupHost(ctx, info.Host)
	if err != nil {
		return err
	}
	for _, kv := range [][2]string{{"cluster-announce-ip", ips[0]}, {"cluster-announce-port", strconv.Itoa(info.Port)}} {
		if info.TLS && kv[0] == "cluster-announce-port" {
			kv[0] = "cluster-announce-tls-port"
		}
		if err := c.ConfigSet(ctx, kv[0], kv[1]).Err(); err != nil {
			return err
		}
	}
	if err := c.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		return err
	}
	return poll(ctx, 10*time.Second, func() (bool, error) {
		text, err := c.ClusterInfo(ctx).Result()
		return infoField(text, "cluster_state") == "ok", err
	})
}

// poll asks until the answer is yes, an error, or the time is over: for states that Redis announces to nobody.
func poll(ctx context.Context, limit time.Duration, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := ask(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// writeAtomically replaces a file so that a reader sees the old content or the new one and nothing between.
func writeAtomically(path, content string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
