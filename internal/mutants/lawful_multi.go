package mutants

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// transactions writes with WATCH and MULTI: it reads what its conditions need
// and begins anew when somebody wrote meanwhile. Reads and scans are the
// reference's, and so is the clean-up that scans do.
func transactions() Variant {
	return Variant{
		ID: "lawful/transactions", Allowed: "L4.isolation", Title: "A batch is WATCH, reads and MULTI instead of one script.",
		provider: func() targets.Provider {
			turns := &sync.Mutex{} // one transaction at a time in this process; others are met by WATCH
			return hooked(refprovider.New(), func(l *location) { writesTransactions(l, turns) }, nil)
		},
		// Unreadable records are the reference's to refuse.
		except: []string{"redislayout/unreadable/*", "redislayout/foreign/*"},
	}
}

func writesTransactions(l *location, turns *sync.Mutex) {
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		// With a token that is cancelled the reference does nothing but say what is wrong with the batch.
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := l.LocationStore.Write(cancelled, w); spi.KindOf(err) != spi.KindCancelled || ctx.Err() != nil ||
			len(w.Mutations) == 0 {
			return l.LocationStore.Write(ctx, w)
		}
		c, err := client(l.config)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		ctx, cancel = context.WithTimeout(ctx, l.config.OperationTimeout)
		defer cancel()
		turns.Lock()
		defer turns.Unlock()
		b := transaction{ctx: ctx, prefix: l.config.KeyPrefix, request: w}
		for {
			var result spi.WriteResult
			err := c.Watch(ctx, func(tx *redis.Tx) (err error) {
				result, err = b.run(tx)
				return err
			}, b.keys()...)
			switch {
			case errors.Is(err, redis.TxFailedErr):
				continue
			case err != nil && spi.KindOf(err) == "":
				return nil, failure(err.Error())
			}
			return result, err
		}
	}
}

// transaction is one batch.
type transaction struct {
	ctx     context.Context
	prefix  string
	request spi.WriteRequest
}

func (b transaction) record(key spi.Key) string { return layout.RecordKey(b.prefix, string(key)) }

func (b transaction) keys() []string {
	keys := []string{layout.SequenceKey(b.prefix)}
	for _, c := range b.request.Conditions {
		keys = append(keys, b.record(c.ConditionKey()))
	}
	for _, m := range b.request.Mutations {
		keys = append(keys, b.record(m.MutationKey()))
	}
	return keys
}

func (b transaction) run(tx *redis.Tx) (spi.WriteResult, error) {
	read := tx.Pipeline()
	clock, sequence := read.Time(b.ctx), read.Get(b.ctx, layout.SequenceKey(b.prefix))
	var current []*redis.StringSliceCmd
	for _, c := range b.request.Conditions {
		current = append(current, read.ZRevRange(b.ctx, b.record(c.ConditionKey()), 0, 0))
	}
	var there []*redis.IntCmd
	for _, m := range b.request.Mutations {
		there = append(there, read.Exists(b.ctx, b.record(m.MutationKey())))
	}
	if _, err := read.Exec(b.ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	now := spi.Millis(clock.Val().UnixMilli())
	for i, c := range b.request.Conditions {
		holds, err := b.holds(c, current[i].Val(), now)
		if err != nil {
			return nil, err
		}
		if !holds {
			return spi.Conflict{StoreNow: now}, nil
		}
	}
	score, _ := strconv.ParseInt(sequence.Val(), 10, 64) // absent: 0
	applied := spi.Applied{StoreNow: now}
	_, err := tx.TxPipelined(b.ctx, func(p redis.Pipeliner) error {
		p.IncrBy(b.ctx, layout.SequenceKey(b.prefix), int64(len(b.request.Mutations)))
		for i, m := range b.request.Mutations {
			score++
			if member, ok := b.member(m, score, now); ok || there[i].Val() == 1 {
				b.add(p, member, score, now)
				if ok {
					applied.PutVersions = append(applied.PutVersions,
						spi.PutVersion{Key: m.MutationKey(), Version: spi.Version(member.Version)})
				}
			}
		}
		return nil
	})
	return applied, err
}

func (b transaction) holds(c spi.Condition, found []string, now spi.Millis) (bool, error) {
	exists := false
	var m layout.Member
	if len(found) > 0 {
		var err error
		if m, err = layout.DecodeMember([]byte(found[0])); err != nil {
			return false, failure(err.Error())
		}
		exists = !m.Tombstone && (m.ExpiresAt == spi.NoExpiry || m.ExpiresAt > now)
	}
	switch c := c.(type) {
	case spi.VersionCondition:
		return exists && m.Version == string(c.Expected), nil
	case spi.ValueCondition:
		return exists && bytes.Equal(m.Value, c.Expected), nil
	}
	return !exists, nil
}

// member is what the mutation stores; false says that it is a tombstone.
func (b transaction) member(m spi.Mutation, score int64, now spi.Millis) (layout.Member, bool) {
	member := layout.Member{Key: string(m.MutationKey()), Version: strconv.FormatInt(score, 10)}
	put, ok := m.(spi.Put)
	if !ok {
		member.Tombstone = true
		return member, false
	}
	member.Value = put.Bytes
	if put.Retention != nil {
		member.ExpiresAt = now + spi.Millis(math.Ceil(float64(*put.Retention)))
	}
	return member, true
}

func (b transaction) add(p redis.Pipeliner, m layout.Member, score int64, now spi.Millis) {
	record := b.record(spi.Key(m.Key))
	p.ZAdd(b.ctx, record, redis.Z{Score: float64(score), Member: layout.EncodeMember(nil, m)})
	p.ZAdd(b.ctx, layout.IndexKey(b.prefix), redis.Z{Member: m.Key})
	p.HSet(b.ctx, layout.MapKey(b.prefix), m.Key, record)
	p.ZAdd(b.ctx, layout.CleanupKey(b.prefix),
		redis.Z{Score: float64(now + spi.Millis(time.Second.Milliseconds())), Member: m.Key})
}
