package mutants

import (
	"context"
	"math"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// relativeExpiry asks for the time with a command of its own and then writes
// with relative PX, as the document prescribes it: what it tells is a little
// before what Redis keeps. Redis alone judges what has expired.
func relativeExpiry() Variant {
	return Variant{
		ID: "lawful/relative-expiry", Allowed: "R3.expiry-clock",
		Title: "TIME is asked first, and a payload's expiry is relative PX.",
		provider: func() targets.Provider {
			p := edited([]edit{
				onPut("'PXAT', text(expires))", "'PX', ARGV[2])"),
				// Never AlreadyStored for what is about to go.
				onPut("if not expires then", "if not expires or expires <= now then"),
				onRenew("call('PEXPIREAT', KEYS[1], text(expires))", "call('PEXPIRE', KEYS[1], ARGV[1])"),
				{old: "if expires > now then return expires end", new: "return expires"},
			})
			return hooked(p, nil, timeFirst)
		},
	}
}

func timeFirst(r *relocation) {
	// now is the time, or false if the operation will end before any I/O.
	now := func(ctx context.Context, ref spi.Reference, size int, retention spi.Retention) (spi.Millis, bool, error) {
		good := len(ref) >= 1 && len(ref) <= spi.MaxReferenceBytes && utf8.ValidString(string(ref)) && size <= spi.MaxBlobBytes
		if ms := float64(retention); ctx.Err() != nil || !good || !(ms > 0 && ms <= 1<<52) {
			return 0, false, nil
		}
		c, err := client(r.config)
		if err != nil {
			return 0, false, err
		}
		defer c.Close()
		t, err := c.Time(ctx).Result()
		if err != nil {
			return 0, false, failure(err.Error())
		}
		return spi.Millis(t.UnixMilli()), true, nil
	}
	after := func(t spi.Millis, retention spi.Retention) spi.Millis {
		return t + spi.Millis(math.Ceil(float64(retention)))
	}
	r.put = func(ctx context.Context, ref spi.Reference, payload []byte, retention spi.Retention) (spi.BlobPutResult, error) {
		t, asked, err := now(ctx, ref, len(payload), retention)
		if err != nil {
			return nil, err
		}
		result, err := r.RelocationStore.Put(ctx, ref, payload, retention)
		if s, ok := result.(spi.Stored); ok && asked {
			s.StoreNow, s.ExpiresAt = t, after(t, retention)
			return s, err
		}
		return result, err
	}
	r.renew = func(ctx context.Context, ref spi.Reference, retention spi.Retention) (spi.BlobRenewResult, error) {
		t, asked, err := now(ctx, ref, 0, retention)
		if err != nil {
			return nil, err
		}
		result, err := r.RelocationStore.Renew(ctx, ref, retention)
		if s, ok := result.(spi.Renewed); ok && asked {
			s.StoreNow, s.ExpiresAt = t, after(t, retention)
			return s, err
		}
		return result, err
	}
}
