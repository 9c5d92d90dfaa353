package mutants

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// pieceMutants read or write what is large in pieces, by one command each (R4,
// L2).
func pieceMutants() []Mutant {
	return []Mutant{
		onRelocation("pieces/payload-read", "R4.read", "A payload of more than 1 MiB is read in two pieces.",
			func(r *relocation) {
				r.read = inPieces(r, func(first, second []byte) []byte { return append(first, second...) })
			}),
		onRelocation("pieces/payload-read-head", "R4.read",
			"A payload of more than 1 MiB that is gone when its second piece is read ends there.", func(r *relocation) {
				r.read = inPieces(r, func(first, second []byte) []byte {
					if len(second) == 0 {
						return first
					}
					return append(first[:len(first):len(first)], second...)
				})
			}),
		onRelocation("pieces/payload-appended", "R4.put",
			"A payload of more than 1 MiB is put with its first piece, and the rest is appended.", func(r *relocation) {
				r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
					if len(p) <= pieceBytes {
						return r.RelocationStore.Put(ctx, ref, p, ms)
					}
					result, err := r.RelocationStore.Put(ctx, ref, p[:pieceBytes], ms)
					if _, ok := result.(spi.Stored); !ok {
						return r.RelocationStore.Put(ctx, ref, p, ms)
					}
					return result, onRedis(r.config, func(c *redis.Client) error {
						return c.Append(ctx, layout.BlobKey(r.config.KeyPrefix, string(ref)), string(p[pieceBytes:])).Err()
					}, err)
				}
			}),
		onRelocation("pieces/payload-apart", "R5.reconcile R4.put",
			"A payload of more than 1 MiB is put as NULs, which its bytes then replace.", func(r *relocation) {
				r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
					if len(p) <= pieceBytes {
						return r.RelocationStore.Put(ctx, ref, p, ms)
					}
					result, err := r.RelocationStore.Put(ctx, ref, make([]byte, len(p)), ms)
					if _, ok := result.(spi.Stored); !ok {
						return r.RelocationStore.Put(ctx, ref, p, ms)
					}
					return result, onRedis(r.config, func(c *redis.Client) error {
						return c.SetRange(ctx, layout.BlobKey(r.config.KeyPrefix, string(ref)), 0, string(p)).Err()
					}, err)
				}
			}),
		onLocation("pieces/value-read", "L2.observation",
			"The second half of a value of 512 KiB and more is read by another command.", func(l *location) {
				l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
					r, err := l.LocationStore.Read(ctx, key)
					f, ok := r.(spi.Found)
					if !ok || len(f.Value.Bytes) < 512<<10 {
						return r, err
					}
					again, err := l.LocationStore.Read(ctx, key)
					if g, ok := again.(spi.Found); ok && len(g.Value.Bytes) == len(f.Value.Bytes) {
						copy(f.Value.Bytes[len(f.Value.Bytes)/2:], g.Value.Bytes[len(f.Value.Bytes)/2:])
					}
					return f, err
				}
			}),
	}
}

const pieceBytes = 1 << 20

// onRedis does one more command on the Redis of a store, unless there was an
// error before.
func onRedis(config targets.StoreConfig, do func(*redis.Client) error, before error) error {
	if before != nil {
		return before
	}
	c, err := client(config)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := do(c); err != nil {
		return failure(err.Error())
	}
	return nil
}

// inPieces reads large payloads by two commands and joins what they found.
func inPieces(
	r *relocation, join func(first, second []byte) []byte,
) func(context.Context, spi.Reference) (spi.BlobReadResult, error) {
	return func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
		result, err := r.RelocationStore.Read(ctx, ref)
		f, ok := result.(spi.BlobFound)
		if !ok || len(f.Bytes) <= pieceBytes {
			return result, err
		}
		var second string
		err = onRedis(r.config, func(c *redis.Client) error {
			second, err = c.GetRange(ctx, layout.BlobKey(r.config.KeyPrefix, string(ref)), pieceBytes, -1).Result()
			return err
		}, err)
		f.Bytes = join(f.Bytes[:pieceBytes:pieceBytes], []byte(second))
		return f, err
	}
}
