package redisenv

import (
	"context"
	"errors"
)

var errNoDocker = errors.New("no Docker engine (DOCKER_HOST)")

func dockerReachable(ctx context.Context) error            { return errNoDocker }
func imagePresent(ctx context.Context, image string) error { return errNoDocker }
func startDocker(ctx context.Context, o Options, so ServerOptions) (*Server, error) {
	return nil, errNoDocker
}
