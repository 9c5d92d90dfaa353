package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decodeStrict fills v from data, field by field in the struct's own order. The
// standard decoder would accept unknown and repeated fields, another letter
// case, null for anything and missing fields, and not say which field is wrong.
func decodeStrict(data []byte, v reflect.Value) error {
	if !utf8.Valid(data) {
		return errors.New("record is not valid UTF-8")
	}
	d := decoder{json.NewDecoder(bytes.NewReader(data))}
	d.UseNumber()
	if err := d.value("", v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("record has bytes behind its JSON object")
	}
	return nil
}

type decoder struct{ *json.Decoder }

// token returns the next token, or an error that names the field at path.
func (d decoder) token(path string) (json.Token, error) {
	t, err := d.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, problem(name(path), "no JSON here: %v", err)
	}
	return t, nil
}

func (d decoder) value(path string, v reflect.Value) error {
	t, err := d.token(path)
	if err != nil {
		return err
	}
	return d.fill(path, v, t)
}

// fill sets v from the value that begins with token t.
func (d decoder) fill(path string, v reflect.Value, t json.Token) error {
	switch v.Kind() {
	case reflect.Pointer:
		if t == nil {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return d.fill(path, v.Elem(), t)
	case reflect.Struct:
		return d.object(path, v, t)
	case reflect.Slice:
		return d.array(path, v, t)
	case reflect.Map:
		return d.table(path, v, t)
	case reflect.Bool:
		b, ok := t.(bool)
		if !ok {
			return wrong(path, "true or false", t)
		}
		v.SetBool(b)
	case reflect.String:
		s, ok := t.(string)
		if !ok {
			return wrong(path, "a string", t)
		}
		v.SetString(s)
	default:
		return number(path, v, t)
	}
	return nil
}

// number sets v, a Count from a JSON number or a Generation or Decimal from a
// JSON string, refusing every spelling but the canonical one.
func number(path string, v reflect.Value, t json.Token) error {
	var digits string
	if v.Type() == reflect.TypeFor[Count]() {
		n, ok := t.(json.Number)
		if !ok {
			return wrong(path, "a number", t)
		}
		digits = n.String()
	} else {
		s, ok := t.(string)
		if !ok {
			return wrong(path, "a string of decimal digits", t)
		}
		digits = s
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != digits {
		return problem(path, "%q is not a canonical decimal of at most 2^63-1", digits)
	}
	v.SetInt(n)
	return nil
}

func (d decoder) object(path string, v reflect.Value, t json.Token) error {
	if t != json.Delim('{') {
		return wrong(path, "an object", t)
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Anonymous {
			continue
		}
		want := f.Tag.Get("json")
		at := join(path, want)
		got, err := d.token(at)
		switch {
		case err != nil:
			return err
		case got == json.Delim('}'):
			return problem(at, "is missing")
		case got != want:
			return problem(join(path, got.(string)), "stands where %q belongs", want)
		}
		if err := d.value(at, v.FieldByIndex(f.Index)); err != nil {
			return err
		}
	}
	got, err := d.token(path)
	switch {
	case err != nil:
		return err
	case got != json.Delim('}'):
		return problem(join(path, got.(string)), "is unknown or repeated")
	}
	return nil
}

func (d decoder) array(path string, v reflect.Value, t json.Token) error {
	if t != json.Delim('[') {
		return wrong(path, "an array", t)
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0)) // an empty array stays one
	for d.More() {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(fmt.Sprintf("%s[%d]", path, v.Len()), item); err != nil {
			return err
		}
		v.Set(reflect.Append(v, item))
	}
	_, err := d.token(path)
	return err
}

func (d decoder) table(path string, v reflect.Value, t json.Token) error {
	if t != json.Delim('{') {
		return wrong(path, "an object", t)
	}
	v.Set(reflect.MakeMap(v.Type()))
	for d.More() {
		key, err := d.token(path)
		if err != nil {
			return err
		}
		item := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(join(path, key.(string)), item); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key), item)
	}
	_, err := d.token(path)
	return err
}

func wrong(path, want string, t json.Token) error {
	return problem(name(path), "must be %s, not %s", want, describe(t))
}

func describe(t json.Token) string {
	switch t := t.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(t)
	case json.Number:
		return "the number " + t.String()
	case string:
		return fmt.Sprintf("the string %q", t)
	}
	return strings.NewReplacer("{", "an object", "[", "an array").Replace(fmt.Sprint(t))
}

func name(path string) string {
	if path == "" {
		return "(the record)"
	}
	return path
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}
