package payloadcases

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/payload"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// orderCases: chunks first, the index last (P3.store-order).
func orderCases() []harness.Case {
	return []harness.Case{
		relocationCase("store-order/visible", "When the index is about to be stored every chunk can be read "+
			"through another instance.",
			"P3.store-order", chunksVisible),
		relocationCase("store-order/taken-chunk", "A chunk whose reference holds other bytes ends storing: there is no "+
			"index, and those bytes stay.",
			"P3.store-order R4.put-compare R4.put-keeps", takenChunk),
		relocationCase("store-order/taken-index",
			"An index whose reference holds other bytes is not stored, and those bytes stay.",
			"R4.put-compare R4.put-keeps P3.store-order P3.index", takenIndex),
		relocationCase("store-order/completed", "Storing that broke off has left no index; the same payload stored again "+
			"completes it, again and again.",
			"P3.store-order R4.put-compare P3.data-lost", completed),
	}
}

func frame(t *harness.T, order int, data []byte) []byte {
	raw, err := payload.EncodeFrame(uint32(order), data)
	if err != nil {
		t.Troublef("a chunk could not be framed: %v", err)
	}
	return raw
}

func chunksVisible(t *harness.T) {
	data := t.RandomBytes(4*chunkSize + 9)
	looked := false
	f := onTarget(t).watched(func(call string, ref spi.Reference) {
		if ref != index("p") {
			return
		}
		looked = true
		t.Relocation().MustMiss(index("p"))
		for order := range 5 {
			part := data[order*chunkSize : min(len(data), (order+1)*chunkSize)]
			t.EqualBytes("P3.store-order", fmt.Sprintf("chunk %d before the index is stored", order),
				frame(t, order, part), t.Relocation().MustFind(chunk("p", order)).Bytes)
		}
	})
	x := f.put("P3.store-order", "p", data)
	if !looked {
		t.Troublef("the index was stored unseen")
	}
	raw, err := payload.EncodeIndex(x)
	if err != nil {
		t.Troublef("the index could not be encoded: %v", err)
	}
	t.EqualBytes("P3.store-order", "the index once it is stored", raw, t.Relocation().MustFind(index("p")).Bytes)
}

// takenChunk takes the reference with a frame that differs in its last byte,
// and with one that is whole but holds other data.
func takenChunk(t *harness.T) {
	data := t.RandomBytes(3 * chunkSize)
	f := onTarget(t)
	for _, order := range []int{0, 1, 2} {
		right := data[order*chunkSize : (order+1)*chunkSize]
		lastByte := frame(t, order, right)
		lastByte[len(lastByte)-1] ^= 1
		other := bytes.Clone(right)
		other[chunkSize/2] ^= 0x80
		for i, there := range [][]byte{lastByte, frame(t, order, other), nil} {
			name := fmt.Sprintf("p%d-%d", order, i)
			t.Relocation().MustStore(chunk(name, order), there, spi.Retention(hour))
			_, err := f.Put(t.Context(), plan(name, len(data)), bytes.NewReader(data))
			f.taken("P3.store-order", "chunk", err)
			t.EqualBytes("R4.put-keeps", "what stood at the chunk's reference before", there,
				t.Relocation().MustFind(chunk(name, order)).Bytes)
			t.Relocation().MustMiss(index(name))
		}
	}
}

func takenIndex(t *harness.T) {
	data := t.RandomBytes(2 * chunkSize)
	f := onTarget(t)
	x := f.put("P3.store-order", "p", data)
	there := t.Relocation().MustFind(index("p")).Bytes
	// The same chunks under an index that differs by the digest and its checksum.
	other := plan("p", len(data))
	other.InventoryDigest[0] ^= 1
	_, err := f.Put(t.Context(), other, bytes.NewReader(data))
	f.taken("R4.put-compare", "index", err)
	t.EqualBytes("R4.put-keeps", "the index that stood there before", there, t.Relocation().MustFind(index("p")).Bytes)
	t.Equal("P3.index", "the leading index that is read", x, f.whole("P3.store-order", "p", data))
}

// taken checks that storing ended with a conflict. A Put that took other bytes
// for the same ones comes to light when they are read back.
func (f framework) taken(requirement, what string, err error) {
	var lost *payload.DataLost
	switch {
	case errors.Is(err, payload.ErrReferenceTaken):
	case err == nil:
		f.t.Failf(requirement, "a payload was stored although other bytes stand at the reference of its %s", what)
	case errors.As(err, &lost):
		f.t.Failf("R4.put-compare", "putting a payload's %s where other bytes stand answered no conflict; "+
			"then storing ended with: %v", what, err)
	default:
		f.fail("P3.store-order", err, "storing a payload of which the %s's reference is taken", what)
	}
}

func completed(t *harness.T) {
	data := t.RandomBytes(4 * chunkSize)
	f := onTarget(t)
	if _, err := f.Put(t.Context(), plan("p", len(data)),
		bytes.NewReader(data[:3*chunkSize-1])); spi.KindOf(err) != spi.KindArgument {
		f.fail("P3.store-order", err, "storing two of four chunks")
	}
	t.Relocation().MustMiss(index("p"))
	_, err := f.Join(t.Context(), index("p"), new(bytes.Buffer))
	f.lost("joining what has no index", err, payload.IndexLost, payload.Absent)
	for range 3 {
		f.put("P3.store-order", "p", data)
		f.whole("P3.store-order", "p", data)
	}
}
