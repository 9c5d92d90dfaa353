package mutants

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// failureMutants break what an operation does when it fails (L6, R5).
func failureMutants() []Mutant {
	return slices.Concat([]Mutant{
		provided("failure/location-token-ignored", "L6.cancel-before",
			"A cancelled token does not keep an operation from starting.", deafToTokens),
		provided("failure/relocation-token-ignored", "R5.cancel-before",
			"A cancelled token does not keep an operation from starting.", deafToTokens),
		provided("failure/location-looks-first", "L6.argument-error", "Redis is asked before the arguments are checked.",
			looksFirst),
		provided("failure/relocation-looks-first", "R5.argument-error", "Redis is asked before the arguments are checked.",
			looksFirst),
		provided("failure/location-argument-is-failure", "L6.argument-error",
			"An argument error is reported as a failure of the store.", reclassified(spi.KindArgument, spi.KindStoreFailure)),
		provided("failure/relocation-argument-is-failure", "R5.argument-error",
			"An argument error is reported as a failure of the store.", reclassified(spi.KindArgument, spi.KindStoreFailure)),
		provided("failure/location-failure-is-argument", "L6.failure-class",
			"A failure of the store is reported as an argument error.", reclassified(spi.KindStoreFailure, spi.KindArgument)),
		provided("failure/relocation-failure-is-argument", "R5.failure-class",
			"A failure of the store is reported as an argument error.", reclassified(spi.KindStoreFailure, spi.KindArgument)),
		script("failure/one-row-blocks-all", "L6.failure-scope", "One unreadable record fails every write and scan.",
			onWrite("if mutations == 0 then", everyRow+"if mutations == 0 then"),
			onScan("local reply = {'page', text(now), ''}", everyRow+"local reply = {'page', text(now), ''}")),
		script("failure/row-blocks-its-neighbours", "L6.failure-scope",
			"A write fails on an unreadable record that it only has in the same batch.",
			onWrite("if mutations == 0 then", everyRow+"if mutations == 0 then")),
		provided("failure/location-timeout-ignored", "L6.timeout", "The operation timeout is taken for four times as long.",
			slow),
		provided("failure/location-timeout-is-failure", "L6.timeout", "A timeout is reported as any other failure.",
			reclassified(spi.KindTimeout, spi.KindStoreFailure)),
		provided("failure/relocation-timeout-ignored", "R5.timeout", "The operation timeout is taken for four times as long.",
			slow),
		provided("failure/timeout-per-phase", "R5.timeout",
			"The operation timeout bounds each read and write of the connection instead of the whole.", timeoutPerPhase),
		provided("failure/relocation-timeout-is-failure", "R5.timeout", "A timeout is reported as any other failure.",
			reclassified(spi.KindTimeout, spi.KindStoreFailure)),
		provided("failure/location-busy-connecting", "L6.recover", "While the first operation connects, others fail.",
			busyConnecting),
		provided("failure/relocation-busy-connecting", "R5.recover", "While the first operation connects, others fail.",
			busyConnecting),
		provided("failure/location-connections-not-replaced", "L6.recover",
			"Connections that are lost are replaced a few times only.", fewConnections),
		provided("failure/relocation-connections-not-replaced", "R5.recover",
			"Connections that are lost are replaced a few times only.", fewConnections),
		provided("failure/location-script-loaded-once", "L6.recover",
			"A script is loaded once, and missed for ever when Redis has forgotten it.", scriptsOnce),
		provided("failure/relocation-script-loaded-once", "R5.recover",
			"A script is loaded once, and missed for ever when Redis has forgotten it.", scriptsOnce),
		provided("failure/location-poisoned", "L6.recover", "The first failure of a connection is kept and answered for ever.",
			poisoned),
		provided("failure/relocation-poisoned", "R5.recover", "The first failure of a connection is kept and answered for ever.",
			poisoned),
	}, lostMutants(), closedResultMutants())
}

// everyRow fails a script if the newest member of any record is unreadable.
const everyRow = `for _, r in ipairs(call('KEYS', (string.gsub(ns, '[%*%?%[%]]', '?')) .. string.rep('?', 64))) do
  local top = redis.pcall('ZREVRANGE', r, 0, 0)
  if top.err or top[1] and string.sub(top[1], 1, 2) ~= '\1\149' then return fail('a record is unreadable') end
end
`

// lost says that a reply is missing: the connection broke or the time was over.
func lost(err error) bool {
	if err == nil {
		return false
	}
	var network net.Error
	return spi.KindOf(err) == spi.KindTimeout || errors.As(err, &network) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}

func hostNow() spi.Millis { return spi.Millis(time.Now().UnixMilli()) }

// lostMutants take a lost reply for an answer.
func lostMutants() []Mutant {
	write := func(id, title string, answer func(context.Context, *location, spi.WriteRequest) (spi.WriteResult, error)) Mutant {
		return onLocation(id, "L6.unknown-outcome", title, func(l *location) {
			l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
				r, err := l.LocationStore.Write(ctx, w)
				if lost(err) {
					return answer(ctx, l, w)
				}
				return r, err
			}
		})
	}
	return []Mutant{
		write("lost/write-is-conflict", "A write whose reply was lost is a Conflict.",
			func(context.Context, *location, spi.WriteRequest) (spi.WriteResult, error) {
				return spi.Conflict{StoreNow: hostNow()}, nil
			}),
		write("lost/write-is-applied", "A write whose reply was lost is Applied.",
			func(_ context.Context, _ *location, w spi.WriteRequest) (spi.WriteResult, error) {
				a := spi.Applied{StoreNow: hostNow()}
				for _, m := range w.Mutations {
					if p, ok := m.(spi.Put); ok {
						a.PutVersions = append(a.PutVersions, spi.PutVersion{Key: p.Key, Version: "unknown"})
					}
				}
				return a, nil
			}),
		onLocation("lost/cancelled-write-is-conflict", "L6.unknown-outcome",
			"A write that was cancelled under way is a Conflict.", func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					r, err := l.LocationStore.Write(ctx, w)
					if spi.KindOf(err) == spi.KindCancelled {
						return spi.Conflict{StoreNow: hostNow()}, nil
					}
					return r, err
				}
			}),
		onRelocation("lost/cancelled-put-is-conflict", "R5.unknown-outcome", "A Put that was cancelled under way is a Conflict.",
			func(r *relocation) {
				r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
					result, err := r.RelocationStore.Put(ctx, ref, p, ms)
					if spi.KindOf(err) == spi.KindCancelled {
						return spi.Conflict{StoreNow: hostNow()}, nil
					}
					return result, err
				}
			}),
		write("lost/write-is-retried", "A write whose reply was lost is sent again, and so applied twice or "+
			"a Conflict with itself.", func(ctx context.Context, l *location, w spi.WriteRequest) (spi.WriteResult, error) {
			return l.LocationStore.Write(ctx, w)
		}),
		onLocation("lost/read-is-missing", "L6.unknown-outcome", "A read whose reply was lost is Missing.", func(l *location) {
			l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
				r, err := l.LocationStore.Read(ctx, key)
				if lost(err) {
					return spi.Missing{StoreNow: hostNow()}, nil
				}
				return r, err
			}
		}),
		onLocation("lost/scan-is-expired", "L6.unknown-outcome", "A scan whose reply was lost is Expired.", func(l *location) {
			l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
				r, err := l.LocationStore.Scan(ctx, request)
				if lost(err) {
					return spi.Expired{}, nil
				}
				return r, err
			}
		}),
		onLocation("lost/old-value-after-write", "L6.reconstruct",
			"After a write whose reply was lost, reads answer what was known before.", knowsBetter),
		onRelocation("lost/put-is-stored", "R5.unknown-outcome", "A Put whose reply was lost is Stored.", func(r *relocation) {
			r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
				result, err := r.RelocationStore.Put(ctx, ref, p, ms)
				if lost(err) {
					return spi.Stored{ExpiresAt: hostNow() + spi.Millis(ms), StoreNow: hostNow()}, nil
				}
				return result, err
			}
		}),
		onRelocation("lost/blob-read-is-missing", "R5.unknown-outcome", "A read whose reply was lost is Missing.",
			func(r *relocation) {
				r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
					result, err := r.RelocationStore.Read(ctx, ref)
					if lost(err) {
						return spi.Missing{StoreNow: hostNow()}, nil
					}
					return result, err
				}
			}),
		onRelocation("lost/renew-is-missing", "R5.unknown-outcome", "A renewal whose reply was lost is Missing.",
			func(r *relocation) {
				r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
					result, err := r.RelocationStore.Renew(ctx, ref, ms)
					if lost(err) {
						return spi.Missing{StoreNow: hostNow()}, nil
					}
					return result, err
				}
			}),
		onRelocation("lost/delete-succeeds", "R5.unknown-outcome", "A delete whose reply was lost succeeds.",
			func(r *relocation) {
				r.delete = func(ctx context.Context, ref spi.Reference) error {
					if err := r.RelocationStore.Delete(ctx, ref); !lost(err) {
						return err
					}
					return nil
				}
			}),
		onRelocation("lost/put-again-is-conflict", "R5.reconcile",
			"After a Put whose reply was lost, the same Put again is a Conflict.", func(r *relocation) {
				pending := newCounts[spi.Reference]()
				r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
					if pending.get(ref) > 0 {
						return spi.Conflict{StoreNow: hostNow()}, nil
					}
					result, err := r.RelocationStore.Put(ctx, ref, p, ms)
					if lost(err) {
						pending.set(ref, 1)
					}
					return result, err
				}
			}),
		onRelocation("lost/put-is-not-read", "R5.reconcile", "After a Put whose reply was lost, the reference reads as Missing.",
			func(r *relocation) {
				pending := newCounts[spi.Reference]()
				r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
					result, err := r.RelocationStore.Put(ctx, ref, p, ms)
					if lost(err) {
						pending.set(ref, 1)
					}
					return result, err
				}
				r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
					result, err := r.RelocationStore.Read(ctx, ref)
					if f, ok := result.(spi.BlobFound); ok && pending.get(ref) > 0 {
						return spi.Missing{StoreNow: f.StoreNow}, nil
					}
					return result, err
				}
			}),
	}
}

// closedResultMutants raise what are ordinary results.
func closedResultMutants() []Mutant {
	return []Mutant{
		onLocation("result/conflict-is-an-error", "L6.closed-results", "A Conflict is raised as an error.", func(l *location) {
			l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
				r, err := l.LocationStore.Write(ctx, w)
				if _, ok := r.(spi.Conflict); ok {
					return nil, failure("conflict")
				}
				return r, err
			}
		}),
		onLocation("result/missing-is-an-error", "L6.closed-results", "Missing is raised as an error.", func(l *location) {
			l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
				r, err := l.LocationStore.Read(ctx, key)
				if _, ok := r.(spi.Missing); ok {
					return nil, failure("missing")
				}
				return r, err
			}
		}),
		onRelocation("result/blob-missing-is-an-error", "R5.closed-results", "Missing is raised as an error.",
			func(r *relocation) {
				r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
					result, err := r.RelocationStore.Read(ctx, ref)
					if _, ok := result.(spi.Missing); ok {
						return nil, failure("missing")
					}
					return result, err
				}
			}),
		onRelocation("result/blob-conflict-is-an-error", "R5.closed-results", "A Conflict is raised as an error.",
			func(r *relocation) {
				r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
					result, err := r.RelocationStore.Put(ctx, ref, p, ms)
					if _, ok := result.(spi.Conflict); ok {
						return nil, failure("conflict")
					}
					return result, err
				}
			}),
		onRelocation("result/renew-missing-is-an-error", "R5.closed-results",
			"Renewing an absent reference is raised as an error.", func(r *relocation) {
				r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
					result, err := r.RelocationStore.Renew(ctx, ref, ms)
					if _, ok := result.(spi.Missing); ok {
						return nil, failure("missing")
					}
					return result, err
				}
			}),
	}
}

// answered says that err is Redis's own answer.
func answered(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}
