package mutants

// besideMutants leave what the reference, at work on the same keys, refuses.
func besideMutants() []Mutant {
	const together = "model/concurrency/with-reference"
	return []Mutant{
		member("interop/unversioned-tombstone", "L9.interop-read", "A tombstone has no version, so that others cannot read it.",
			`'\1' .. cmsgpack.pack({key, value, put and version or '', expires, not put})`).also(together),
		script("interop/map-goes-astray", "L9.interop-scan L9.interop-snapshot",
			"The map names other Redis keys than the records'.",
			onWrite("call('HSET', map, key, record)", "call('HSET', map, key, ns .. 'astray')")).also(together),
		script("blob-layout/apart-by-a-letter", "R8.key", "Payloads lie at a Redis key that no other provider looks at.",
			onKeys(`blob:(.*)$`, `function(r) return 'blobs:' .. r end`)).also("payload/lost/behind-the-target",
			"payload/golden/*"),
	}
}
