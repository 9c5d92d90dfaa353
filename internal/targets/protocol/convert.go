package protocol

import (
	"fmt"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// NewText returns t's wire form.
func NewText[T ~string](t T) *Text {
	text := Text(t)
	return &text
}

// NewConditions returns the wire form of conditions.
func NewConditions(conditions []spi.Condition) []Condition {
	out := make([]Condition, 0, len(conditions))
	for _, c := range conditions {
		w := Condition{Kind: KindMissing, Key: NewText(c.ConditionKey())}
		switch c := c.(type) {
		case spi.VersionCondition:
			w.Kind, w.Version = KindVersion, NewText(c.Expected)
		case spi.ValueCondition:
			w.Kind, w.Bytes = KindValue, NewBytes(c.Expected)
		}
		out = append(out, w)
	}
	return out
}

// NewMutations returns the wire form of mutations.
func NewMutations(mutations []spi.Mutation) []Mutation {
	out := make([]Mutation, 0, len(mutations))
	for _, m := range mutations {
		w := Mutation{Kind: KindDelete, Key: NewText(m.MutationKey())}
		if p, ok := m.(spi.Put); ok {
			w.Kind, w.Bytes, w.RetentionMs = KindPut, NewBytes(p.Bytes), (*float64)(p.Retention)
		}
		out = append(out, w)
	}
	return out
}

// WriteRequest returns the request of a location.write.
func (r *Request) WriteRequest() (spi.WriteRequest, error) {
	var out spi.WriteRequest
	for i, w := range r.Conditions {
		c, err := w.condition()
		if err != nil {
			return out, fmt.Errorf("conditions[%d]: %w", i, err)
		}
		out.Conditions = append(out.Conditions, c)
	}
	for i, w := range r.Mutations {
		m, err := w.mutation()
		if err != nil {
			return out, fmt.Errorf("mutations[%d]: %w", i, err)
		}
		out.Mutations = append(out.Mutations, m)
	}
	return out, nil
}

func (c Condition) condition() (spi.Condition, error) {
	if c.Key == nil {
		return nil, missing("key")
	}
	key := spi.Key(*c.Key)
	switch c.Kind {
	case KindMissing:
		return spi.MissingCondition{Key: key}, nil
	case KindVersion:
		if c.Version == nil {
			return nil, missing("version")
		}
		return spi.VersionCondition{Key: key, Expected: spi.Version(*c.Version)}, nil
	case KindValue:
		b, err := c.Bytes.Content()
		return spi.ValueCondition{Key: key, Expected: b}, err
	}
	return nil, fmt.Errorf("unknown kind %q", c.Kind)
}

func (m Mutation) mutation() (spi.Mutation, error) {
	if m.Key == nil {
		return nil, missing("key")
	}
	key := spi.Key(*m.Key)
	switch m.Kind {
	case KindPut:
		b, err := m.Bytes.Content()
		return spi.Put{Key: key, Bytes: b, Retention: (*spi.Retention)(m.RetentionMs)}, err
	case KindDelete:
		return spi.Delete{Key: key}, nil
	}
	return nil, fmt.Errorf("unknown kind %q", m.Kind)
}

// ScanRequest returns the request of a location.scan.
func (r *Request) ScanRequest() (spi.ScanRequest, error) {
	if r.Prefix == nil {
		return spi.ScanRequest{}, missing("prefix")
	}
	if r.Limit == nil {
		return spi.ScanRequest{}, missing("limit")
	}
	return spi.ScanRequest{Prefix: string(*r.Prefix), Cursor: (*spi.Cursor)(r.Cursor), Limit: *r.Limit}, nil
}

func missing(field string) error { return fmt.Errorf("the field %q is missing", field) }
