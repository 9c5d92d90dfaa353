package mutants

import (
	"context"
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/spi"
)

func plain(change func(string) string) func(string) (string, error) {
	return func(s string) (string, error) { return change(s), nil }
}

// keys is a mutant that changes or refuses every key that it is given.
func keys(id, requirement, title string, change func(string) (string, error)) Mutant {
	return onLocation(id, requirement, title, func(l *location) {
		l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
			changed, err := change(string(key))
			if err != nil {
				return nil, err
			}
			return l.LocationStore.Read(ctx, spi.Key(changed))
		}
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			w, given, err := withKeys(w, change)
			if err != nil {
				return nil, err
			}
			r, err := l.LocationStore.Write(ctx, w)
			if a, ok := r.(spi.Applied); ok {
				for i, p := range a.PutVersions {
					a.PutVersions[i].Key = given[p.Key]
				}
				return a, err
			}
			return r, err
		}
	})
}

// withKeys is the request with changed keys, and the keys of its mutations as
// they were given.
func withKeys(w spi.WriteRequest, change func(string) (string, error)) (spi.WriteRequest, map[spi.Key]spi.Key, error) {
	given := map[spi.Key]spi.Key{}
	w.Conditions, w.Mutations = slices.Clone(w.Conditions), slices.Clone(w.Mutations)
	for i, c := range w.Conditions {
		k, err := change(string(c.ConditionKey()))
		if err != nil {
			return w, nil, err
		}
		switch c := c.(type) {
		case spi.MissingCondition:
			w.Conditions[i] = spi.MissingCondition{Key: spi.Key(k)}
		case spi.VersionCondition:
			w.Conditions[i] = spi.VersionCondition{Key: spi.Key(k), Expected: c.Expected}
		case spi.ValueCondition:
			w.Conditions[i] = spi.ValueCondition{Key: spi.Key(k), Expected: c.Expected}
		}
	}
	for i, m := range w.Mutations {
		k, err := change(string(m.MutationKey()))
		if err != nil {
			return w, nil, err
		}
		given[spi.Key(k)] = m.MutationKey()
		switch m := m.(type) {
		case spi.Put:
			w.Mutations[i] = spi.Put{Key: spi.Key(k), Bytes: m.Bytes, Retention: m.Retention}
		case spi.Delete:
			w.Mutations[i] = spi.Delete{Key: spi.Key(k)}
		}
	}
	return w, given, nil
}

// puts is a mutant that changes or refuses every Put that it is given.
func puts(id, requirement, title string, change func(spi.Put) (spi.Put, error)) Mutant {
	return onLocation(id, requirement, title, func(l *location) {
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			w.Mutations = slices.Clone(w.Mutations)
			for i, m := range w.Mutations {
				if p, ok := m.(spi.Put); ok {
					changed, err := change(p)
					if err != nil {
						return nil, err
					}
					w.Mutations[i] = changed
				}
			}
			return l.LocationStore.Write(ctx, w)
		}
	})
}

// values is a mutant that changes or refuses every value that is put.
func values(id, requirement, title string, change func([]byte) ([]byte, error)) Mutant {
	return puts(id, requirement, title, func(p spi.Put) (_ spi.Put, err error) {
		p.Bytes, err = change(p.Bytes)
		return p, err
	})
}

// requests is a mutant that changes or refuses every batch that it is given.
func requests(id, requirement, title string, change func(spi.WriteRequest) (spi.WriteRequest, error)) Mutant {
	return onLocation(id, requirement, title, func(l *location) {
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			w, err := change(w)
			if err != nil {
				return nil, err
			}
			return l.LocationStore.Write(ctx, w)
		}
	})
}

// versions is a mutant that puts a text in front of every version it answers
// and takes it off again where one is expected.
func versions(id, requirement, title, front string) Mutant {
	return onLocation(id, requirement, title, func(l *location) {
		l.read = changeFound(l, func(f *spi.Found) { f.Value.Version = spi.Version(front) + f.Value.Version })
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			w.Conditions = slices.Clone(w.Conditions)
			for i, c := range w.Conditions {
				if v, ok := c.(spi.VersionCondition); ok {
					v.Expected = spi.Version(strings.TrimPrefix(string(v.Expected), front))
					w.Conditions[i] = v
				}
			}
			r, err := l.LocationStore.Write(ctx, w)
			if a, ok := r.(spi.Applied); ok {
				for i := range a.PutVersions {
					a.PutVersions[i].Version = spi.Version(front) + a.PutVersions[i].Version
				}
				return a, err
			}
			return r, err
		}
		l.scan = changePage(l, func(_ spi.ScanRequest, p *spi.Page) {
			for i := range p.Items {
				p.Items[i].Value.Version = spi.Version(front) + p.Items[i].Value.Version
			}
		})
	})
}

// changePage scans and changes the page that comes.
func changePage(
	l *location, change func(spi.ScanRequest, *spi.Page),
) func(context.Context, spi.ScanRequest) (spi.ScanResult, error) {
	return func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
		r, err := l.LocationStore.Scan(ctx, request)
		if p, ok := r.(spi.Page); ok {
			change(request, &p)
			return p, err
		}
		return r, err
	}
}
