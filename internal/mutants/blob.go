package mutants

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// blobMutants break the Relocation Store (R3, R4, R6).
func blobMutants() []Mutant {
	const compared = "call('STRLEN', key) == #payload and call('GET', key) == payload"
	return slices.Concat([]Mutant{
		references("blob/nul-refused", "A reference with NUL is refused.", func(ref string) (string, error) {
			if strings.ContainsRune(ref, 0) {
				return "", spi.Argument("NUL")
			}
			return ref, nil
		}),
		references("blob/cut-at-nul", "A reference ends at its first NUL.", plain(func(ref string) string {
			if before, _, found := strings.Cut(ref, "\x00"); found && before != "" {
				return before
			}
			return ref
		})),
		references("blob/lower-case", "References are compared without regard to case.", plain(strings.ToLower)),
		references("blob/reference-in-characters", "The length of a reference is counted in characters.",
			plain(func(ref string) string {
				if len([]rune(ref)) <= spi.MaxReferenceBytes && len(ref) > spi.MaxReferenceBytes {
					return strings.ToValidUTF8(ref[:spi.MaxReferenceBytes], "")
				}
				return ref
			})),
		references("blob/reference-short-limit", "References of more than 1,024 bytes are refused.",
			func(ref string) (string, error) {
				if len(ref) > 1024 {
					return "", spi.Argument("reference too long")
				}
				return ref, nil
			}),
		payloads("blob/limit-without-envelope", "R3.size", "The limit of a payload leaves out the 23 bytes of the chunk's frame.",
			func(p []byte) ([]byte, error) {
				if len(p) > spi.MaxChunkBytes {
					return nil, spi.Argument("too large")
				}
				return p, nil
			}),
		payloads("blob/cut-at-limit", "R3.size", "A payload that is too large is cut instead of refused.",
			func(p []byte) ([]byte, error) { return p[:min(len(p), spi.MaxBlobBytes)], nil }),
		payloads("blob/empty-refused", "R3.size", "An empty payload is refused.", func(p []byte) ([]byte, error) {
			if len(p) == 0 {
				return nil, spi.Argument("empty")
			}
			return p, nil
		}),
		payloads("blob/limit-of-512-kib", "R3.size", "Payloads of more than 512 KiB are refused.",
			func(p []byte) ([]byte, error) {
				if len(p) > 512<<10 {
					return nil, spi.Argument("too large")
				}
				return p, nil
			}),
		payloads("blob/as-text", "R3.payload-bytes", "Bytes of a payload that are no UTF-8 are replaced.",
			func(p []byte) ([]byte, error) { return bytes.ToValidUTF8(p, []byte("?")), nil }),
		onRelocation("blob/last-byte-lost", "R3.payload-bytes",
			"The last byte of a payload of 512 KiB or more is lost in reading.", func(r *relocation) {
				r.read = changeBlob(r, func(f *spi.BlobFound) {
					if n := len(f.Bytes); n >= 512<<10 {
						f.Bytes = append(slices.Clone(f.Bytes[:n-1]), 0)
					}
				})
			}),
		onRelocation("blob/shared-by-content", "R3.no-dedupe",
			"Payloads of the same bytes are one, so that deleting one deletes all.", sharedByContent),

		script("blob/any-bytes-already-stored", "R4.put", "Put answers AlreadyStored for other bytes of the same length.",
			onPut(" and call('GET', key) == payload", "")),
		script("blob/put-overwrites", "R4.put", "Put stores whatever is there.",
			onPut("if not expires then\n", "if true then\n")),
		script("blob/already-stored-is-conflict", "R4.put", "Put answers Conflict for the same bytes.",
			onPut("return {'alreadyStored', text(now), text(expires)}", "return {'conflict', text(now)}")),
		script("blob/deleted-is-remembered", "R4.put", "A reference that was deleted takes no other Put.",
			onPut("if not expires then\n", "if not expires and call('EXISTS', key .. '-gone') == 1 then return {'conflict', "+
				"text(now)} end\nif not expires then\n"),
			edit{"relocation_delete", "call('DEL', KEYS[1])",
				"if call('DEL', KEYS[1]) == 1 then call('SET', KEYS[1] .. '-gone', 1, 'PX', 60000) end"}),
		onRelocation("blob/looks-before-it-stores", "R4.put",
			"Put looks whether the reference is free with one command and stores with the next.", looksBeforeItStores),
		script("blob/lengths-not-compared", "R4.put-compare", "Put compares as many bytes as it was given.",
			onPut(compared, "call('GETRANGE', key, 0, #payload - 1) == payload")),
		script("blob/last-byte-not-compared", "R4.put-compare", "Put does not compare the last byte.",
			onPut("call('GET', key) == payload", "call('GETRANGE', key, 0, -2) == string.sub(payload, 1, -2)")),
		script("blob/first-mebibyte-compared", "R4.put-compare", "Put compares the first MiB alone.",
			onPut("call('GET', key) == payload", "call('GETRANGE', key, 0, 1048575) == string.sub(payload, 1, 1048576)")),
		script("blob/conflict-overwrites", "R4.put-keeps", "A conflicting Put replaces the bytes.",
			onPut("return {'conflict', text(now)}", "call('SET', key, payload, 'KEEPTTL') return {'conflict', text(now)}")),
		onRelocation("blob/put-re-arms", "R4.put-keeps", "A repeated Put arms its own retention, also a shorter one.",
			func(r *relocation) { r.put = putAndRenew(r, func(_, _ spi.Millis) bool { return true }) }),
		onRelocation("blob/put-extends", "R4.put-retention", "A repeated Put extends the retention if its own is longer.",
			func(r *relocation) { r.put = putAndRenew(r, func(old, new spi.Millis) bool { return new > old }) }),

		script("blob/read-extends", "R4.read", "Reading extends the retention.",
			onGet("return {'found'", "expires = expires + 3600000 call('PEXPIREAT', KEYS[1], text(expires)) return {'found'")),
		onRelocation("blob/read-of-two-moments", "R4.read", "Bytes and expiry are read with one command, the time with another.",
			func(r *relocation) {
				r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
					first, err := r.RelocationStore.Read(ctx, ref)
					f, ok := first.(spi.BlobFound)
					if !ok {
						return first, err
					}
					time.Sleep(2 * time.Millisecond) // what a slow network has between two commands
					switch second, err := r.RelocationStore.Read(ctx, ref); second := second.(type) {
					case spi.BlobFound:
						f.StoreNow, f.ExpiresAt = second.StoreNow, second.ExpiresAt
					case spi.Missing:
						f.StoreNow = second.StoreNow
					default:
						return nil, err
					}
					return f, nil
				}
			}),
		onRelocation("blob/absent-is-empty", "R4.read", "An absent reference reads as an empty payload.", func(r *relocation) {
			r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
				result, err := r.RelocationStore.Read(ctx, ref)
				if m, ok := result.(spi.Missing); ok {
					return spi.BlobFound{Bytes: []byte{}, ExpiresAt: m.StoreNow + 1000, StoreNow: m.StoreNow}, nil
				}
				return result, err
			}
		}),
		script("blob/renew-does-nothing", "R4.renew", "Renew sets no new expiry.",
			onRenew("call('PEXPIREAT', KEYS[1], text(expires))", "")),
		script("blob/renew-never-shortens", "R4.renew", "Renew leaves a later expiry.",
			onRenew("text(expires))\n", "text(expires), 'GT')\n")),
		script("blob/renew-adds", "R4.renew", "Renew adds to the old expiry.",
			onRenew("expires = now + tonumber(ARGV[1])", "expires = expires + tonumber(ARGV[1])")),
		script("blob/renew-once", "R4.renew", "A second renewal is not carried out.",
			onRenew("call('PEXPIREAT', KEYS[1], text(expires))",
				`if call('SET', KEYS[1] .. '-renewed', 1, 'NX', 'PX', 60000) then
  call('PEXPIREAT', KEYS[1], text(expires))
end`)),
		onRelocation("blob/renew-brings-back", "R4.renew", "Renewing an absent reference makes an empty payload.",
			func(r *relocation) {
				r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
					_, _ = r.RelocationStore.Put(ctx, ref, nil, ms)
					return r.RelocationStore.Renew(ctx, ref, ms)
				}
			}),
		onRelocation("blob/delete-of-absent-fails", "R4.delete", "Deleting an absent reference fails.", func(r *relocation) {
			r.delete = func(ctx context.Context, ref spi.Reference) error {
				if result, _ := r.RelocationStore.Read(ctx, ref); result != nil {
					if _, missing := result.(spi.Missing); missing {
						return failure("absent")
					}
				}
				return r.RelocationStore.Delete(ctx, ref)
			}
		}),
		script("blob/delete-does-nothing", "R4.delete", "Delete removes nothing.",
			edit{"relocation_delete", "call('DEL', KEYS[1])", ""}),

		script("blob/retention-in-seconds", "R6.orphan", "A payload lives a thousand times as long as it should.",
			onPut("now + tonumber(ARGV[2])", "now + tonumber(ARGV[2]) * 1000")),
		script("blob/kept-while-read", "R6.orphan", "An expired payload can be renewed.",
			onPut("'PXAT', text(expires))", "'PXAT', text(expires + 60000))")),
		script("blob/half-the-retention", "R6.published", "A payload is gone after half its retention.",
			onPut("'PXAT', text(expires))", "'PXAT', text(now + math.ceil(tonumber(ARGV[2]) / 2)))")),
		script("blob/delete-takes-neighbours", "R6.published",
			"Deleting a payload deletes those whose reference begins with its own.",
			edit{"relocation_delete", "call('DEL', KEYS[1])",
				"call('DEL', KEYS[1]) for _, k in ipairs(call('KEYS', (string.gsub(KEYS[1], '[%*%?%[%]%z\\\\]', '?')) .. " +
					"'*')) do call('DEL', k) end"}),
		onRelocation("buffer/one-for-all-payloads", "R4.stable", "All reads return the same buffer.", func(r *relocation) {
			var mu sync.Mutex
			buffer := make([]byte, 1<<20)
			r.read = changeBlob(r, func(f *spi.BlobFound) {
				mu.Lock()
				defer mu.Unlock()
				if len(f.Bytes) <= len(buffer) {
					f.Bytes = buffer[:copy(buffer, f.Bytes)]
				}
			})
		}),
		onRelocation("buffer/payload-kept", "R4.stable", "A payload is kept without a copy and answered from there.",
			func(r *relocation) {
				var kept sync.Map
				r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
					kept.Store(ref, p)
					return r.RelocationStore.Put(ctx, ref, p, ms)
				}
				r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
					result, err := r.RelocationStore.Read(ctx, ref)
					if f, ok := result.(spi.BlobFound); ok {
						if p, ok := kept.Load(ref); ok {
							f.Bytes = p.([]byte)
						}
						return f, err
					}
					return result, err
				}
			}),
	}, blobRetentionMutants())
}

func blobRetentionMutants() []Mutant {
	retention := func(id, title string, change func(float64) float64) Mutant {
		return onRelocation(id, "R4.retention", title, func(r *relocation) {
			r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
				return r.RelocationStore.Put(ctx, ref, p, spi.Retention(change(float64(ms))))
			}
			r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
				return r.RelocationStore.Renew(ctx, ref, spi.Retention(change(float64(ms))))
			}
		})
	}
	return []Mutant{
		retention("blob-retention/fraction-floored", "A fraction of a millisecond is floored, to zero if need be.", math.Floor),
		retention("blob-retention/clipped", "A long retention is clipped to 32 bits.",
			func(ms float64) float64 { return min(ms, math.MaxInt32) }),
		retention("blob-retention/negative-is-short", "A negative retention is taken for a short one.",
			func(ms float64) float64 { return max(ms, 1) }),
		script("blob-retention/fourteen-digits", "R4.retention", "Long expiries lose digits, as Lua's tostring writes 1e+14.",
			edit{"", "return string.format('%.0f', n)", "return tostring(n)"}).also("spi/blob-retention/*"),
	}
}

// references is a mutant that changes or refuses the references of Put and Read.
func references(id, title string, change func(string) (string, error)) Mutant {
	return onRelocation(id, "R3.reference", title, func(r *relocation) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			changed, err := change(string(ref))
			if err != nil {
				return nil, err
			}
			return r.RelocationStore.Put(ctx, spi.Reference(changed), p, ms)
		}
		r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
			changed, err := change(string(ref))
			if err != nil {
				return nil, err
			}
			return r.RelocationStore.Read(ctx, spi.Reference(changed))
		}
	})
}

// payloads is a mutant that changes or refuses every payload that is put.
func payloads(id, requirement, title string, change func([]byte) ([]byte, error)) Mutant {
	return onRelocation(id, requirement, title, func(r *relocation) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			p, err := change(p)
			if err != nil {
				return nil, err
			}
			return r.RelocationStore.Put(ctx, ref, p, ms)
		}
	})
}

func changeBlob(r *relocation, change func(*spi.BlobFound)) func(context.Context, spi.Reference) (spi.BlobReadResult, error) {
	return func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
		result, err := r.RelocationStore.Read(ctx, ref)
		if f, ok := result.(spi.BlobFound); ok {
			change(&f)
			return f, err
		}
		return result, err
	}
}

// putAndRenew renews after a repeated Put if the new expiry is wanted.
func putAndRenew(
	r *relocation, wanted func(old, new spi.Millis) bool,
) func(context.Context, spi.Reference, []byte, spi.Retention) (spi.BlobPutResult, error) {
	return func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
		result, err := r.RelocationStore.Put(ctx, ref, p, ms)
		a, ok := result.(spi.AlreadyStored)
		if !ok || !wanted(a.ExpiresAt, a.StoreNow+spi.Millis(ms)) {
			return result, err
		}
		renewed, err := r.RelocationStore.Renew(ctx, ref, ms)
		if n, ok := renewed.(spi.Renewed); ok {
			a.ExpiresAt = n.ExpiresAt
		}
		return a, err
	}
}

func looksBeforeItStores(r *relocation) {
	r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
		if found, _ := r.RelocationStore.Read(ctx, ref); found != nil {
			if _, missing := found.(spi.Missing); missing {
				time.Sleep(time.Millisecond) // what a slow network has between two commands
				_ = r.RelocationStore.Delete(ctx, ref)
			}
		}
		return r.RelocationStore.Put(ctx, ref, p, ms)
	}
}

// sharedByContent deletes with a reference all that were put with its bytes.
func sharedByContent(r *relocation) {
	var mu sync.Mutex
	content := map[spi.Reference]string{}
	r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
		if len(p) <= 1<<10 {
			mu.Lock()
			content[ref] = string(p)
			mu.Unlock()
		}
		return r.RelocationStore.Put(ctx, ref, p, ms)
	}
	r.delete = func(ctx context.Context, ref spi.Reference) error {
		mu.Lock()
		defer mu.Unlock()
		if bytes, ok := content[ref]; ok {
			for other, same := range content {
				if same == bytes {
					_ = r.RelocationStore.Delete(ctx, other)
				}
			}
		}
		return r.RelocationStore.Delete(ctx, ref)
	}
}
