package spicases

import (
	"bytes"
	"crypto/md5"
	"hash/adler32"
	"hash/crc32"
	"testing"
)

func TestChecksumsCollide(t *testing.T) {
	sums := map[string]func([]byte) uint32{
		"CRC-32":   crc32.ChecksumIEEE,
		"CRC-32C":  func(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) },
		"Adler-32": adler32.Checksum,
		"sum": func(b []byte) (s uint32) {
			for _, c := range b {
				s += uint32(c)
			}
			return s
		},
		"xor": func(b []byte) (s uint32) {
			for _, c := range b {
				s ^= uint32(c)
			}
			return s
		},
		"base 31": func(b []byte) uint32 {
			h := uint32(1)
			for _, c := range b {
				h = 31*h + uint32(int32(int8(c)))
			}
			return h
		},
		"MD5": func(b []byte) uint32 {
			s := md5.Sum(b)
			return crc32.ChecksumIEEE(s[:])
		},
	}
	want := [][]string{{"CRC-32", "CRC-32C"}, {"Adler-32", "sum"}, {"xor"}, {"base 31"}, {"MD5"}}
	for i, c := range checksums() {
		content := patterned(5000, 7)
		if !c.atStart {
			c.at = 1234
		}
		a, b := c.before(content), c.after(content)
		if bytes.Equal(a, b) || len(a) != len(b) {
			t.Errorf("%s: the contents are the same, or of different length", c.name)
		}
		if i >= len(want) {
			continue
		}
		for _, name := range want[i] {
			if sums[name](a) != sums[name](b) {
				t.Errorf("%s: the %s differs", c.name, name)
			}
		}
	}
}
