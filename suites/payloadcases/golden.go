package payloadcases

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/fixtures"
	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/reference/payload"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// goldenCases: frames and indexes of the golden fixture through the target, as
// they stand in Redis (P3.frame, P3.index).
func goldenCases() []harness.Case {
	return []harness.Case{
		relocationCase("golden/stored", "The golden payload, stored through the target, stands in Redis as the "+
			"golden frame and index.",
			"P3.frame P3.index R8.key R8.string", goldenStored, harness.NeedLayout),
		relocationCase("golden/vectors", "Every frame and index of the fixture stands in Redis and comes back with "+
			"the bytes it was put with.",
			"P3.frame P3.index R8.key R8.string", goldenVectors, harness.NeedLayout),
		relocationCase("golden/planted", "The golden frame and index, planted in Redis as another language writes them, "+
			"join to the golden payload.",
			"P3.frame P3.index", goldenPlanted, harness.NeedLayout),
	}
}

// The ends of the golden frame and index, which are checksums.
const (
	goldenFrameEnd = "49b7fd34"
	goldenIndexEnd = "cfa52388"
)

func vectors(t *harness.T) fixtures.ConformanceVectors {
	var f fixtures.File
	if err := json.Unmarshal(fixtures.Embedded(), &f); err != nil {
		t.Troublef("the golden fixture is unreadable: %v", err)
	}
	return f.ConformanceVectors
}

func unhex(t *harness.T, digits string) []byte {
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Troublef("the golden fixture holds bad hex digits: %v", err)
	}
	return b
}

// golden is the payload of the fixture's first frame and index.
func golden(t *harness.T) (plan payload.Plan, data, frame, index []byte) {
	v := vectors(t)
	f, x := v.ChunkFrames[0], v.LeadingIndexes[0]
	data = bytes.Repeat(unhex(t, f.Data.Hex), f.Data.Count)
	plan = payload.Plan{Index: "golden", Length: int64(len(data)),
		Chunk: func(int) spi.Reference { return spi.Reference(x.Chunks[0].Reference) }}
	copy(plan.InventoryDigest[:], unhex(t, x.InventoryDigestHex))
	return plan, data, unhex(t, f.Frame.Hex), unhex(t, x.Index.Hex)
}

func goldenStored(t *harness.T) {
	plan, data, frame, index := golden(t)
	f := onTarget(t)
	f.ChunkSize = spi.MaxChunkBytes
	if _, err := f.Put(t.Context(), plan, bytes.NewReader(data)); err != nil {
		f.fail("P3.frame", err, "storing the golden payload")
	}
	gotFrame, gotIndex := raw.On(t).Blob(plan.Chunk(0)), raw.On(t).Blob(plan.Index)
	t.EqualBytes("P3.frame", "the golden frame in Redis", frame, gotFrame)
	t.EqualBytes("P3.index", "the golden index in Redis", index, gotIndex)
	t.EqualBytes("P3.frame", "the end of the golden frame", unhex(t, goldenFrameEnd), gotFrame[max(0, len(gotFrame)-4):])
	t.EqualBytes("P3.index", "the end of the golden index", unhex(t, goldenIndexEnd), gotIndex[max(0, len(gotIndex)-4):])
}

func goldenPlanted(t *harness.T) {
	plan, data, frame, index := golden(t)
	for ref, b := range map[spi.Reference][]byte{plan.Chunk(0): frame, plan.Index: index} {
		raw.Must(t.Redis().Set(t.Context(), layout.BlobKey(t.KeyPrefix(), string(ref)), b, time.Hour).Result())(t, "SET")
	}
	f := onTarget(t)
	f.ChunkSize = spi.MaxChunkBytes
	var out bytes.Buffer
	if _, err := f.Join(t.Context(), plan.Index, &out); err != nil {
		f.fail("P3.frame", err, "joining the planted golden payload")
	}
	t.EqualBytes("P3.frame", "the golden payload", data, out.Bytes())
}

func goldenVectors(t *harness.T) {
	v, store := vectors(t), t.Relocation()
	check := func(requirement, name string, encoded []byte, want fixtures.Output) {
		ref := spi.Reference(name)
		store.MustStore(ref, encoded, spi.Retention(hour))
		for where, got := range map[string][]byte{"in Redis": raw.On(t).Blob(ref), "as it is read": store.MustFind(ref).Bytes} {
			t.Checkf(fmt.Sprintf("%x", sha256.Sum256(got)) == want.SHA256Hex, requirement,
				"the golden %s %s has %d bytes that begin with %.24x, expected %d bytes", name, where, len(got), got, want.Length)
		}
	}
	for _, f := range v.ChunkFrames {
		check("P3.frame", "frame "+f.Name, frame(t, int(f.Order), bytes.Repeat(unhex(t, f.Data.Hex), f.Data.Count)), f.Frame)
	}
	for _, x := range v.LeadingIndexes {
		check("P3.index", "index "+x.Name, unhex(t, x.Index.Hex), x.Index)
	}
}
