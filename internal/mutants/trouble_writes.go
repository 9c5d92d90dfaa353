package mutants

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// retriedMutants send again what Redis may have executed.
func retriedMutants() []Mutant {
	reset := func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
	retries := func(id, title string, again func(error) bool) Mutant {
		return onLocation(id, "L6.unknown-outcome", title, func(l *location) {
			l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
				r, err := l.LocationStore.Write(ctx, w)
				if again(err) {
					return l.LocationStore.Write(ctx, w)
				}
				return r, err
			}
		})
	}
	return []Mutant{
		retries("trouble/write-sent-again-after-reset", "A write whose connection is reset is sent again.", reset),
		onLocation("trouble/first-write-sent-again", "L6.unknown-outcome",
			"The first write of an instance is sent again when it loses its connection.", func(l *location) {
				var once sync.Once
				l.write = func(ctx context.Context, w spi.WriteRequest) (r spi.WriteResult, err error) {
					first := false
					once.Do(func() { first = true })
					if r, err = l.LocationStore.Write(ctx, w); first && lost(err) {
						return l.LocationStore.Write(ctx, w)
					}
					return r, err
				}
			}),
		onLocation("trouble/write-attempts", "L6.unknown-outcome", "A write is sent up to three times within its timeout.",
			func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (r spi.WriteResult, err error) {
					for range 3 {
						r, err = attemptOf(ctx, l.config, func(ctx context.Context) (spi.WriteResult,
							error) {
							return l.LocationStore.Write(ctx, w)
						})
						if spi.KindOf(err) != spi.KindTimeout || ctx.Err() != nil {
							return r, err
						}
					}
					return r, err
				}
			}),
		onRelocation("trouble/put-attempts", "R5.unknown-outcome",
			"A Put is sent up to three times within its timeout, and what it meets is taken for a Conflict.",
			func(s *relocation) {
				s.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (r spi.BlobPutResult,
					err error) {
					for i := range 3 {
						r, err = attemptOf(ctx, s.config, func(ctx context.Context) (spi.BlobPutResult, error) {
							return s.RelocationStore.Put(ctx, ref, p, ms)
						})
						if a, ok := r.(spi.AlreadyStored); ok && i > 0 {
							return spi.Conflict{StoreNow: a.StoreNow}, nil
						}
						if spi.KindOf(err) != spi.KindTimeout || ctx.Err() != nil {
							return r, err
						}
					}
					return r, err
				}
			}),
	}
}

// attemptOf gives an attempt a third of the operation timeout.
func attemptOf[R any](ctx context.Context, c targets.StoreConfig, operation func(context.Context) (R, error)) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, c.OperationTimeout/3)
	defer cancel()
	return operation(ctx)
}

// replayedMutants send a write that has failed again, in the background, until
// it succeeds.
func replayedMutants() []Mutant {
	replay := func(err error, again func() error) {
		if !lost(err) {
			return
		}
		go func() {
			for range 100 {
				time.Sleep(20 * time.Millisecond)
				if err := again(); !lost(err) {
					return
				}
			}
		}()
	}
	return []Mutant{
		onLocation("trouble/write-replayed", "L6.reconstruct",
			"A write that lost its connection is sent again in the background.", func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					r, err := l.LocationStore.Write(ctx, w)
					replay(err, func() error { _, err := l.LocationStore.Write(context.Background(), w); return err })
					return r, err
				}
			}),
		onRelocation("trouble/delete-replayed", "R6.published",
			"A Delete that lost its connection is sent again in the background.", func(r *relocation) {
				r.delete = func(ctx context.Context, ref spi.Reference) error {
					err := r.RelocationStore.Delete(ctx, ref)
					replay(err, func() error { return r.RelocationStore.Delete(context.Background(), ref) })
					return err
				}
			}),
	}
}

// guessedMutants take the bytes that they find after a lost reply for their own.
func guessedMutants() []Mutant {
	return []Mutant{
		onLocation("trouble/applied-by-the-bytes", "L6.unknown-outcome",
			"A write whose reply was lost is Applied if its bytes are found under the key.", func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					r, err := l.LocationStore.Write(ctx, w)
					if !lost(err) || len(w.Mutations) != 1 {
						return r, err
					}
					p, ok := w.Mutations[0].(spi.Put)
					if !ok {
						return r, err
					}
					if f, ok := foundRecord(l.LocationStore.Read(ctx, p.Key)); ok && bytes.Equal(f.Value.Bytes, p.Bytes) {
						return spi.Applied{PutVersions: []spi.PutVersion{{Key: p.Key, Version: f.Value.Version}},
							StoreNow: f.StoreNow}, nil
					}
					return r, err
				}
			}),
		onRelocation("trouble/stored-by-the-bytes", "R5.unknown-outcome",
			"A Put whose reply was lost is Stored if its bytes are found under the reference.", func(r *relocation) {
				r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
					result, err := r.RelocationStore.Put(ctx, ref, p, ms)
					if !lost(err) {
						return result, err
					}
					now, readErr := r.RelocationStore.Read(ctx, ref)
					if f, ok := now.(spi.BlobFound); ok && readErr == nil && bytes.Equal(f.Bytes, p) {
						return spi.Stored{ExpiresAt: f.ExpiresAt, StoreNow: f.StoreNow}, nil
					}
					return result, err
				}
			}),
	}
}

func foundRecord(r spi.ReadResult, err error) (spi.Found, bool) {
	f, ok := r.(spi.Found)
	return f, ok && err == nil
}

// expiryAfterPayload stores a large payload first and gives it its expiry then.
func expiryAfterPayload(r *relocation) {
	r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
		if len(p) < 64<<10 || r.config.Share != nil {
			return r.RelocationStore.Put(ctx, ref, p, ms)
		}
		if now, err := r.RelocationStore.Read(ctx, ref); err != nil {
			return nil, err
		} else if _, free := now.(spi.Missing); !free {
			return r.RelocationStore.Put(ctx, ref, p, ms)
		}
		c, err := plainClient(r.config)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		key := r.config.KeyPrefix + ":{zlink-relocation-v1}:blob:" + string(ref)
		if err := c.Set(ctx, key, p, 0).Err(); err != nil {
			return nil, failure(err.Error())
		}
		if err := c.PExpire(ctx, key, time.Duration(float64(ms)*float64(time.Millisecond))).Err(); err != nil {
			return nil, failure(err.Error())
		}
		f, err := r.RelocationStore.Read(ctx, ref)
		if b, ok := f.(spi.BlobFound); ok && err == nil {
			return spi.Stored{ExpiresAt: b.ExpiresAt, StoreNow: b.StoreNow}, nil
		}
		return nil, failure("the payload is gone")
	}
}

// plainClient is client without attempts of its own.
func plainClient(c targets.StoreConfig) (*redis.Client, error) {
	c.Share = nil
	o, err := refprovider.Options(c)
	if err != nil {
		return nil, err
	}
	o.Redis.MaxRetries, o.Redis.DisableIdentity = -1, true
	return redis.NewClient(o.Redis), nil
}
