package interop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// mixedCases: a longer life of both on one prefix.
func mixedCases() []harness.Case {
	return []harness.Case{locationCase("mixed/random",
		"After random writes by both providers both read and scan what a simple model says.", "L9.interop-read L9.interop-scan",
		mixed)}
}

func mixed(t *harness.T) {
	const requirement = "L9.interop-read"
	ps, model := parties(t), map[spi.Key]spi.Value{}
	for i := range 150 {
		p := ps[t.Rand().IntN(2)]
		key := spi.Key(fmt.Sprintf("p/%d", t.Rand().IntN(8)))
		current, there := model[key]
		condition := spi.Condition(ifMissing(key))
		if there {
			condition = ifVersion(key, current.Version)
		}
		switch t.Rand().IntN(5) {
		case 0:
			p.apply(requirement, write(given(condition), del(key)))
			delete(model, key)
		case 1:
			p.conflict(requirement, write(given(ifVersion(key, "no such version")), put(key, "never")))
		case 2:
			p.page(requirement, spi.ScanRequest{Prefix: "p/", Limit: 1}) // opened and abandoned
		default:
			value := fmt.Sprint("value ", i)
			a := p.apply(requirement, write(given(condition), put(key, value)))
			model[key] = spi.Value{Bytes: []byte(value), Version: a.PutVersions[0].Version}
		}
	}
	var want []spi.Item
	for key, value := range model {
		want = append(want, spi.Item{Key: key, Value: value})
	}
	slices.SortFunc(want, func(a, b spi.Item) int { return strings.Compare(string(a.Key), string(b.Key)) })
	for _, p := range ps {
		for key, value := range model {
			p.same(requirement, key, value)
		}
		t.Equal("L9.interop-scan", "the scan by "+p.name, want, p.scan("L9.interop-scan", "p/"))
	}
}
