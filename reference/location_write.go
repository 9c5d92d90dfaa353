package reference

import (
	"context"

	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Write checks the conditions and applies the mutations in one script: Applied,
// or Conflict with nothing changed (L4.all-or-nothing).
func (l *Location) Write(ctx context.Context, request spi.WriteRequest) (spi.WriteResult, error) {
	b := batch{prefix: l.prefix, keys: map[spi.Key]bool{}}
	if err := b.add(request); err != nil {
		return nil, err
	}
	r, err := l.eval(ctx, l.write, layout.SequenceKey(l.prefix), b.args...)
	if err != nil {
		return nil, err
	}
	kind, err := r.text(0)
	if err != nil {
		return nil, err
	}
	now, err := r.millis(1)
	if err != nil {
		return nil, err
	}
	switch {
	case kind == "conflict":
		return spi.Conflict{StoreNow: now}, nil
	case kind != "applied" || len(r) != 2+len(b.puts):
		return nil, storeFailure(errReply)
	}
	applied := spi.Applied{StoreNow: now, PutVersions: make([]spi.PutVersion, len(b.puts))}
	for i, key := range b.puts {
		version, err := r.text(2 + i)
		if err != nil {
			return nil, err
		}
		applied.PutVersions[i] = spi.PutVersion{Key: key, Version: spi.Version(version)}
	}
	return applied, nil
}

// batch turns a write request into the arguments of its script and checks the
// bounds on the way.
type batch struct {
	prefix string
	args   []any
	puts   []spi.Key
	keys   map[spi.Key]bool // over conditions and mutations (L4.key-bound)
	size   int              // encoded size (L4.byte-bound)
}

func (b *batch) add(request spi.WriteRequest) error {
	const perCondition, perMutation = 4, 5
	if n := max(len(request.Conditions), len(request.Mutations)); n > spi.MaxBatchKeys {
		return spi.Argument("the batch has %d conditions or mutations, want at most %d", n, spi.MaxBatchKeys)
	}
	b.args = make([]any, 0, 3+perCondition*len(request.Conditions)+perMutation*len(request.Mutations))
	b.args = append(b.args, layout.Namespace(b.prefix), len(request.Conditions), len(request.Mutations))

	seen := make(map[spi.Key]bool, len(request.Conditions))
	for _, condition := range request.Conditions {
		if err := b.addCondition(condition, seen); err != nil {
			return err
		}
	}
	seen = make(map[spi.Key]bool, len(request.Mutations))
	for _, mutation := range request.Mutations {
		if err := b.addMutation(mutation, seen); err != nil {
			return err
		}
	}
	if len(b.keys) > spi.MaxBatchKeys {
		return spi.Argument("the batch has %d keys, want at most %d", len(b.keys), spi.MaxBatchKeys)
	}
	if b.size > spi.MaxBatchBytes {
		return spi.Argument("the batch is %d bytes of keys, versions and values, want at most %d", b.size, spi.MaxBatchBytes)
	}
	return nil
}

func (b *batch) addCondition(condition spi.Condition, seen map[spi.Key]bool) error {
	switch c := condition.(type) {
	case spi.MissingCondition:
		if err := b.addKey("conditions", c.Key, seen); err != nil {
			return err
		}
		b.append("missing", c.Key, "")
	case spi.VersionCondition:
		if err := b.addKey("conditions", c.Key, seen); err != nil {
			return err
		}
		if err := validateText("expected version", string(c.Expected), 1, spi.MaxVersionBytes); err != nil {
			return err
		}
		b.size += len(c.Expected)
		b.append("version", c.Key, string(c.Expected))
	case spi.ValueCondition:
		if err := b.addKey("conditions", c.Key, seen); err != nil {
			return err
		}
		if err := validateSize("expected value", c.Expected, spi.MaxValueBytes); err != nil {
			return err
		}
		b.size += len(c.Expected)
		b.append("value", c.Key, c.Expected)
	default:
		return spi.Argument("condition %T is not supported", condition)
	}
	return nil
}

func (b *batch) addMutation(mutation spi.Mutation, seen map[spi.Key]bool) error {
	switch m := mutation.(type) {
	case spi.Put:
		if err := b.addKey("mutations", m.Key, seen); err != nil {
			return err
		}
		if err := validateSize("value", m.Bytes, spi.MaxValueBytes); err != nil {
			return err
		}
		retention := "0"
		if m.Retention != nil {
			var err error
			if retention, err = retentionArgument(*m.Retention); err != nil {
				return err
			}
		}
		b.size += len(m.Bytes)
		b.puts = append(b.puts, m.Key)
		b.append("put", m.Key, m.Bytes, retention)
	case spi.Delete:
		if err := b.addKey("mutations", m.Key, seen); err != nil {
			return err
		}
		b.append("delete", m.Key, "", "0")
	default:
		return spi.Argument("mutation %T is not supported", mutation)
	}
	return nil
}

func (b *batch) addKey(where string, key spi.Key, seen map[spi.Key]bool) error {
	if err := validateKey(key); err != nil {
		return err
	}
	if seen[key] {
		return spi.Argument("key %q stands twice in the %s", key, where)
	}
	seen[key] = true
	b.keys[key] = true
	b.size += len(key)
	return nil
}

func (b *batch) append(kind string, key spi.Key, rest ...any) {
	b.args = append(b.args, kind, layout.RecordKey(b.prefix, string(key)), string(key))
	b.args = append(b.args, rest...)
}
