package targets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Reference is the reference provider.
func Reference() Provider {
	return ReferenceWith(func(o reference.Options) reference.Options { return o })
}

// ReferenceWith is the reference provider, its stores opened with changed
// options.
func ReferenceWith(change func(reference.Options) reference.Options) Provider {
	return Provider{
		Info: Info{
			Provider: "reference", Language: "go", Version: moduleVersion(),
			Stores:       []string{StoreLocation, StoreRelocation},
			Layout:       LayoutOfficial,
			Capabilities: []string{CapCancellation, CapValueCondition, CapSharedConnection, CapSurface, CapUnixSocket, CapTLS},
		},
		OpenLocation: func(_ context.Context, config StoreConfig) (spi.LocationStore, error) {
			options, err := ReferenceOptions(config)
			if err != nil {
				return nil, err
			}
			store, err := reference.OpenLocation(change(options))
			if err != nil {
				return nil, err
			}
			return store, nil
		},
		OpenRelocation: func(_ context.Context, config StoreConfig) (spi.RelocationStore, error) {
			options, err := ReferenceOptions(config)
			if err != nil {
				return nil, err
			}
			store, err := reference.OpenRelocation(change(options))
			if err != nil {
				return nil, err
			}
			return store, nil
		},
		Surface: func() []string {
			return []string{"DefaultOperationTimeout", "Location", "OpenLocation", "OpenRelocation", "Options", "Relocation", "Store"}
		},
	}
}

// ReferenceOptions is the config as the reference provider takes it. Errors
// are argument errors.
func ReferenceOptions(config StoreConfig) (reference.Options, error) {
	options := reference.Options{KeyPrefix: config.KeyPrefix, OperationTimeout: config.OperationTimeout}
	if config.Share != nil {
		shared, ok := config.Share.(reference.Store)
		if !ok {
			return options, Unsupported("the store to share a connection with is not of the reference provider")
		}
		options.Share = shared
		return options, nil
	}
	r, err := redisOptions(config.Redis)
	options.Redis = r
	return options, err
}

// redisOptions connects by TCP, or by the unix socket if there is no host.
func redisOptions(c redisenv.ConnInfo) (*redis.Options, error) {
	o := &redis.Options{Network: "tcp", Addr: net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), DB: c.DB, Username: c.Username, Password: c.Password}
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

func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
