package mutants

import (
	"context"
	"fmt"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// wideMutants work through a wide batch in slices, and lose something between
// two of them (L4).
func wideMutants() []Mutant {
	unchecked := func(id, title, when string) Mutant {
		return script("wide/"+id, "L4.all-or-nothing", title, onWrite("for _ = 1, conditions do", "for c = 1, conditions do"),
			onWrite("if not holds then", "if not holds and not ("+when+") then"))
	}
	mutations := func(id, requirement, title, when string) Mutant {
		return script("wide/"+id, requirement, title,
			onWrite("if put or call('EXISTS', record) == 1 then",
				"local m = (i - at) / 5 + 1\n  if ("+when+") then elseif put or call('EXISTS', record) == 1 then"))
	}
	mutants := []Mutant{
		unchecked("value-unchecked",
			"The last value condition of each slice of 1,000 is not checked.", "kind == 'value' and c % 1000 == 0"),
		mutations("delete-lost", "L4.delete",
			"The first mutation of the third slice of 700 is lost if it is a Delete.", "not put and m == 1401"),
		mutations("put-lost", "L4.put", "One Put in the midst of a wide batch is lost.", "put and m == 777"),
		mutations("overwrite-lost", "L4.put",
			"A Put at the end of a slice of 500 does not replace what is there.",
			"put and m == 1500 and call('EXISTS', record) == 1"),
		mutations("remainder-lost", "L4.put",
			"The Puts behind the last whole slice of 1,000 are lost, from the second slice on.", "put and m > 2000"),
		onLocation("wide/checked-apart", "L4.all-or-nothing",
			"More than 512 conditions are checked with a command of their own before the mutations.", func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					if len(w.Conditions) > 512 && len(w.Mutations) > 0 {
						r, err := l.LocationStore.Write(ctx, spi.WriteRequest{Conditions: w.Conditions})
						if _, ok := r.(spi.Applied); !ok {
							return r, err
						}
						w.Conditions = nil
					}
					return l.LocationStore.Write(ctx, w)
				}
			}),
		onLocation("wide/conditions-in-slices", "L4.all-or-nothing",
			"Conditions are checked 1,000 at a time, the last ones with the mutations.", func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					for len(w.Conditions) > 1000 {
						r, err := l.LocationStore.Write(ctx, spi.WriteRequest{Conditions: w.Conditions[:1000]})
						if _, ok := r.(spi.Applied); !ok {
							return r, err
						}
						w.Conditions = w.Conditions[1000:]
					}
					return l.LocationStore.Write(ctx, w)
				}
			}),
		onLocation("wide/written-in-slices", "L4.isolation",
			"More than 1,024 mutations are written by two commands.", func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					if len(w.Mutations) > 1024 {
						return writeSplit(ctx, l, w, 1024)
					}
					return l.LocationStore.Write(ctx, w)
				}
			}),
		onLocation("wide/large-written-apart", "L4.isolation",
			"Mutations of more than 2 MiB are written by two commands.", func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					if size(spi.WriteRequest{Mutations: w.Mutations}) > 2<<20 && len(w.Mutations) > 1 {
						return writeSplit(ctx, l, w, len(w.Mutations)/2)
					}
					return l.LocationStore.Write(ctx, w)
				}
			}),
	}
	for _, slice := range []int{300, 500, 512, 666, 1000, 1024} {
		edge := fmt.Sprintf("conditions > %d and c %% %d == ", slice, slice)
		mutants = append(mutants,
			unchecked(fmt.Sprint("last-of-", slice),
				fmt.Sprintf("The last condition of each whole slice of %d is not checked.", slice), edge+"0"),
			unchecked(fmt.Sprint("first-of-", slice),
				fmt.Sprintf("The first condition of each slice of %d but the first is not checked.", slice), edge+"1 and c > 1"))
	}
	return mutants
}
