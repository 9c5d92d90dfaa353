package payloadcases

import (
	"bytes"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/payload"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// interopCases: the target and the reference share payloads (R8.interop-read).
func interopCases() []harness.Case {
	return []harness.Case{
		relocationCase("interop/from-target", "A payload of the target is joined, renewed, completed and "+
			"deleted by the reference.",
			"R8.interop-read P3.frame P3.data-lost", func(t *harness.T) { shared(t, onTarget(t), onReference(t)) },
			harness.NeedLayout),
		relocationCase("interop/from-reference", "A payload of the reference is joined, renewed, completed "+
			"and deleted by the target.",
			"R8.interop-read P3.frame P3.data-lost", func(t *harness.T) { shared(t, onReference(t), onTarget(t)) },
			harness.NeedLayout),
	}
}

func shared(t *harness.T, one, other framework) {
	const requirement = "R8.interop-read"
	data := t.RandomBytes(4*chunkSize + 3)
	x := one.keeping(hour).put(requirement, "p", data)
	other.whole(requirement, "p", data)

	before := t.Now()
	if err := other.keeping(day).Renew(t.Context(), index("p")); err != nil {
		other.fail(requirement, err, "renewing a payload of %s", one.name)
	}
	for _, ref := range all("p", x) {
		kept(t, requirement, ref, before, t.Now(), day)
	}
	one.whole(requirement, "p", data)

	if err := other.Blobs.Delete(t.Context(), chunk("p", 2)); err != nil {
		other.fail(requirement, err, "deleting a chunk of %s", one.name)
	}
	_, err := one.Join(t.Context(), index("p"), new(bytes.Buffer))
	one.lost("joining a payload of which "+other.name+" has deleted a chunk", err, 2, payload.Absent)
	other.put(requirement, "p", data) // the same bytes: all but one chunk are there
	one.whole(requirement, "p", data)

	if err := other.Delete(t.Context(), index("p")); err != nil {
		other.fail(requirement, err, "deleting a payload of %s", one.name)
	}
	for _, ref := range all("p", x) {
		r, err := one.Blobs.Read(t.Context(), ref)
		if err != nil {
			one.fail(requirement, err, "reading %q", ref)
		}
		_, missing := r.(spi.Missing)
		t.Checkf(missing, requirement, "after %s deleted the payload, %s reads %q as %s", other.name, one.name, ref,
			harness.Describe(r))
	}
}
