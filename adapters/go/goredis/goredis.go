// Package goredis connects go-redis as a store of a Go provider is to connect.
// It stands beside the kit, so that a provider with another client has no
// go-redis in its luggage.
package goredis

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"strconv"

	"github.com/redis/go-redis/v9"

	adapter "github.com/zlink-systems/zlink-conformance/adapters/go"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Options connects by TCP, or by the unix socket if there is no host. Errors
// are argument errors.
func Options(c adapter.ConnInfo) (*redis.Options, error) {
	o := &redis.Options{
		Network: "tcp", Addr: net.JoinHostPort(c.Host, strconv.Itoa(c.Port)),
		DB: c.DB, Username: c.Username, Password: c.Password,
	}
	if c.Host == "" {
		o.Network, o.Addr = "unix", c.Socket
	}
	if !c.TLS {
		return o, nil
	}
	o.TLSConfig = &tls.Config{ServerName: c.Host, MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, spi.Argument("cannot read the certificates to trust: %v", err)
		}
		o.TLSConfig.RootCAs = x509.NewCertPool()
		if !o.TLSConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, spi.Argument("%s holds no PEM certificate", c.CAFile)
		}
	}
	return o, nil
}
