package payload

import "hash/crc32"

// castagnoli selects CRC32C, which the standard library computes in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC32C of data.
func Checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

func update(crc uint32, data []byte) uint32 { return crc32.Update(crc, castagnoli, data) }

// Combine returns the CRC32C of a followed by b from the checksums of the two
// and b's length in bytes. So each byte of a payload is summed once, although
// it counts in three checksums: its data's, its frame's and the payload's.
func Combine(a, b uint32, lengthB int64) uint32 {
	// Appending n bits multiplies a's polynomial by x^n.
	shift := uint32(polyOne)
	for i, n := 0, uint64(lengthB)*8; n > 0; i, n = i+1, n>>1 {
		if n&1 == 1 {
			shift = multiply(squares[i], shift)
		}
	}
	return multiply(shift, a) ^ b
}

// Polynomials over GF(2) have their highest power in the lowest bit, as in the
// reflected CRC.
const (
	polyOne = 1 << 31
	polyX   = 1 << 30
)

// squares[i] is x^(2^i) modulo the CRC polynomial.
var squares = func() (s [64]uint32) {
	s[0] = polyX
	for i := 1; i < len(s); i++ {
		s[i] = multiply(s[i-1], s[i-1])
	}
	return s
}()

// multiply returns a times b modulo the CRC polynomial.
func multiply(a, b uint32) (product uint32) {
	for bit := uint32(polyOne); bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry == 1 {
			b ^= crc32.Castagnoli
		}
	}
	return product
}
