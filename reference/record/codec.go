package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// Record is any of the records of this package.
type Record interface {
	MeshNode | ClientServer | FanoutPublisher | OwnerLease | Authority
}

// FieldError says what is wrong with one field. Field is its path in the JSON,
// such as "descriptor.objectCapabilities[1].limit".
type FieldError struct {
	Field   string
	Problem string
}

func (e *FieldError) Error() string { return fmt.Sprintf("record field %s: %s", e.Field, e.Problem) }

func problem(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// MarshalJSON writes the generation as a string.
func (g Generation) MarshalJSON() ([]byte, error) { return quoted(int64(g)), nil }

// MarshalJSON writes the number as a string.
func (d Decimal) MarshalJSON() ([]byte, error) { return quoted(int64(d)), nil }

func quoted(n int64) []byte { return strconv.AppendQuote(nil, strconv.FormatInt(n, 10)) }

// Encode returns the record's canonical compact JSON: the pinned field order,
// no white space, absent optional fields as null. It sets the record version
// and fails with a *FieldError if a field is out of range.
func Encode[R Record](r R) ([]byte, error) {
	header := reflect.ValueOf(&r).Elem().FieldByName("RecordVersion")
	header.SetInt(Version)
	if err := validate(r); err != nil {
		return nil, err
	}
	return marshal(r)
}

func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // the text is read by other languages, not by a browser
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Decode reads a record's canonical JSON. It refuses, with a *FieldError,
// another recordVersion, a missing, unknown, repeated or misplaced field, a
// value of the wrong JSON type or out of range, and repeated facts that differ;
// and any text that is not the canonical one of the record that it says.
func Decode[R Record](data []byte) (R, error) {
	var r, zero R
	if err := decodeStrict(data, reflect.ValueOf(&r).Elem()); err != nil {
		return zero, err
	}
	if err := validate(r); err != nil {
		return zero, err
	}
	canonical, err := marshal(r)
	if err != nil {
		return zero, err
	}
	if !bytes.Equal(data, canonical) {
		return zero, fmt.Errorf("record is not canonical JSON from byte %d on", commonPrefix(data, canonical))
	}
	return r, nil
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
