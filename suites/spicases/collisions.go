package spicases

import (
	"bytes"
	"encoding/hex"
	"hash/crc32"
	"slices"
)

// A change replaces some bytes of a content by others, so that a comparison of
// a part of them, or of a checksum, takes the two contents for one.
type change struct {
	name    string
	at      int
	atStart bool // it leaves the checksum as it is at the very start alone
	old     []byte
	new     []byte
}

// before and after write the two sides of the change into a content.
func (c change) before(content []byte) []byte { return c.written(content, c.old) }
func (c change) after(content []byte) []byte  { return c.written(content, c.new) }

func (c change) written(content, part []byte) []byte {
	content = bytes.Clone(content)
	copy(content[c.at:], part)
	return content
}

// checksums are changes that leave a checksum as it is, or that are lost in text.
func checksums() []change {
	some := bytes.Repeat([]byte{0x40}, 24)
	return []change{
		{name: "with the same CRC-32 and CRC-32C", old: some, new: sameCRC(some)},
		// The plain sum and the sum of the sums of Adler-32 and Fletcher stay.
		{name: "with the same Adler-32 and the same sum", old: []byte{8, 8, 8}, new: []byte{9, 6, 9}},
		{name: "with the same exclusive or", old: []byte{0x11, 0x22, 0x30}, new: []byte{0x12, 0x21, 0x30}},
		// 31*h + b, as Java's Arrays.hashCode has it.
		{name: "with the same polynomial hash of base 31", old: []byte{1, 62}, new: []byte{2, 31}},
		{name: "with the same MD5", atStart: true, old: md5Twins(0), new: md5Twins(1)},
		// The lengths of UTF-8 and the replaced characters are the same.
		{name: "in bytes that are no UTF-8", old: []byte{0xfe, 0xff, 0xc0}, new: []byte{0xff, 0xfe, 0xc1}},
		{name: "in the highest bit", old: []byte{0x41}, new: []byte{0xc1}},
		{name: "in letter case", old: []byte{'A'}, new: []byte{'a'}},
		{name: "behind a NUL", old: []byte{0, 'x'}, new: []byte{0, 'y'}},
		{name: "in the sign of a number of eight bits", old: []byte{0x80}, new: []byte{0x7f}},
	}
}

// sameCRC returns other bytes of the same length with the same CRC-32 (IEEE and
// Castagnoli both). The difference of two checksums depends on the difference
// of the contents alone, bit by bit, so it is found by elimination: of more than
// 64 differences of one bit, some together cancel the 64 bits of both.
func sameCRC(content []byte) []byte {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	both := func(b []byte) uint64 {
		return uint64(crc32.ChecksumIEEE(b))<<32 | uint64(crc32.Checksum(b, castagnoli))
	}
	type sum struct {
		effect uint64
		diff   []byte
	}
	zero := both(make([]byte, len(content)))
	var basis []sum
	for bit := range 8 * len(content) {
		diff := make([]byte, len(content))
		diff[bit/8] = 1 << (bit % 8)
		s := sum{both(diff) ^ zero, diff}
		for _, b := range basis {
			if s.effect^b.effect < s.effect {
				s.effect ^= b.effect
				s.diff = xor(s.diff, b.diff)
			}
		}
		if s.effect == 0 {
			return xor(content, s.diff)
		}
		basis = append(basis, s)
		slices.SortFunc(basis, func(a, b sum) int {
			if a.effect > b.effect {
				return -1
			}
			return 1
		})
	}
	panic("no 65 differences of 64 bits are independent")
}

func xor(a, b []byte) []byte {
	c := bytes.Clone(a)
	for i := range c {
		c[i] ^= b[i]
	}
	return c
}

// md5Twins are the two blocks of 128 bytes that Wang, Feng, Lai and Yu published
// in 2004. Behind a head whose length is a multiple of 64 they do not collide
// any more, so they fit at the very start alone.
func md5Twins(which int) []byte {
	b, err := hex.DecodeString([]string{
		"d131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f8955ad340609f4b30283e488832571415a" +
			"085125e8f7cdc99fd91dbdf280373c5bd8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0" +
			"e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70",
		"d131dd02c5e6eec4693d9a0698aff95c2fcab50712467eab4004583eb8fb7f8955ad340609f4b30283e4888325f1415a" +
			"085125e8f7cdc99fd91dbd7280373c5bd8823e3156348f5bae6dacd436c919c6dd53e23487da03fd02396306d248cda0" +
			"e99f33420f577ee8ce54b67080280d1ec69821bcb6a8839396f965ab6ff72a70",
	}[which])
	if err != nil {
		panic(err)
	}
	return b
}
