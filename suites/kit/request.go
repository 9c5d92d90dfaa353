package kit

import "github.com/zlink-systems/zlink-conformance/spi"

// Write is a batch: its conditions, as Given lists them or nil, and its
// mutations.
func Write(conditions []spi.Condition, mutations ...spi.Mutation) spi.WriteRequest {
	return spi.WriteRequest{Conditions: conditions, Mutations: mutations}
}

// Given are the conditions of a batch.
func Given(conditions ...spi.Condition) []spi.Condition { return conditions }

// IfMissing holds while there is no record.
func IfMissing(key spi.Key) spi.MissingCondition { return spi.MissingCondition{Key: key} }

// IfVersion holds while the record has the version.
func IfVersion(key spi.Key, v spi.Version) spi.VersionCondition {
	return spi.VersionCondition{Key: key, Expected: v}
}

// IfValue holds while the record has the bytes.
func IfValue(key spi.Key, value []byte) spi.ValueCondition {
	return spi.ValueCondition{Key: key, Expected: value}
}

// Put puts a value that does not expire.
func Put(key spi.Key, value string) spi.Put { return spi.Put{Key: key, Bytes: []byte(value)} }

// PutFor puts a value that expires after so many milliseconds.
func PutFor(key spi.Key, value string, ms float64) spi.Put {
	return spi.Put{Key: key, Bytes: []byte(value), Retention: spi.For(ms)}
}

// Delete deletes a record.
func Delete(key spi.Key) spi.Delete { return spi.Delete{Key: key} }
