// Package redistest gives tests a Redis of their own: a local server, which
// ends with the test. Where none is installed the test is skipped.
package redistest

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
)

// Env starts a server, and more of them beside it on demand.
func Env(tb testing.TB) *redisenv.Env {
	tb.Helper()
	return env(tb, redisenv.Options{})
}

// Start starts a server and returns the options to reach it.
func Start(tb testing.TB) *redis.Options {
	tb.Helper()
	return Env(tb).Main().Options()
}

// StartCluster starts a one-node cluster that owns every slot, so that a
// script which touches a second slot fails.
func StartCluster(tb testing.TB) *redis.Options {
	tb.Helper()
	return env(tb, redisenv.Options{Topology: redisenv.TopologyCluster}).Main().Options()
}

func env(tb testing.TB, o redisenv.Options) *redisenv.Env {
	tb.Helper()
	o.Mode = redisenv.ModeLocal
	Need(tb)
	e, err := redisenv.Start(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return e
}

// Need skips the test where no server is installed.
func Need(tb testing.TB) {
	tb.Helper()
	if _, err := redisenv.FindServer(); err != nil {
		tb.Skipf("skipped: %v", err)
	}
}

// Client returns a plain client that is closed with the test.
func Client(tb testing.TB, options *redis.Options) *redis.Client {
	client := redis.NewClient(options)
	tb.Cleanup(func() { client.Close() })
	return client
}
