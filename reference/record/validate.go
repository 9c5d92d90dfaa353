package record

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// validate checks every field's range and the facts that a record holds twice.
func validate(r any) error {
	if err := ranges("", reflect.ValueOf(r)); err != nil {
		return err
	}
	switch r := r.(type) {
	case MeshNode:
		d := r.Descriptor
		return repeats(r.OwnerID, d.OwnerID, r.LeaseGeneration, d.LeaseGeneration, r.DescriptorRevision, d.DescriptorRevision)
	case ClientServer:
		d := r.Descriptor
		return repeats(r.OwnerID, d.OwnerID, r.LeaseGeneration, d.LeaseGeneration, r.DescriptorRevision, d.DescriptorRevision)
	case FanoutPublisher:
		d := r.Descriptor
		return repeats(r.OwnerID, d.OwnerID, r.LeaseGeneration, d.LeaseGeneration, r.DescriptorRevision, d.DescriptorRevision)
	case Authority:
		if p := r.PendingCreation; p != nil {
			if _, err := p.Content(); err != nil {
				return problem("pendingCreation.requestContentReference", "%v", err)
			}
		}
	}
	return nil
}

// repeats compares the facts that stand both in a record and in its descriptor.
func repeats(owner, ownerIn string, lease, leaseIn Generation, revision, revisionIn Decimal) error {
	switch {
	case owner != ownerIn:
		return problem("descriptor.ownerId", "is %q, but ownerId is %q", ownerIn, owner)
	case lease != leaseIn:
		return problem("descriptor.leaseGeneration", "is %d, but leaseGeneration is %d", leaseIn, lease)
	case revision != revisionIn:
		return problem("descriptor.descriptorRevision", "is %d, but descriptorRevision is %d", revisionIn, revision)
	}
	return nil
}

func ranges(path string, v reflect.Value) error {
	switch x := v.Interface().(type) {
	case Header:
		if x.RecordVersion != Version {
			return problem("recordVersion", "is %d: only %d is supported", x.RecordVersion, Version)
		}
		return nil
	case Generation:
		if x < 1 {
			return problem(path, "is %d: a generation starts at 1", x)
		}
		return nil
	case Decimal:
		if x < 0 {
			return problem(path, "is %d: it must not be negative", x)
		}
		return nil
	case Count:
		if x < 0 || x > MaxCount {
			return problem(path, "is %d: it must be 0 to %d", x, MaxCount)
		}
		return nil
	case Hex:
		if _, err := hex.DecodeString(string(x)); err != nil || x == "" || strings.ToLower(string(x)) != string(x) {
			return problem(path, "%q is not pairs of lowercase hex digits", x)
		}
		return nil
	case Base64:
		if b, err := base64.StdEncoding.DecodeString(string(x)); err != nil || base64.StdEncoding.EncodeToString(b) != string(x) {
			return problem(path, "%q is not padded standard base64", x)
		}
		return nil
	case string:
		if !utf8.ValidString(x) {
			return problem(path, "is not valid UTF-8")
		}
		return nil
	}
	return inside(path, v)
}

// inside checks what a struct, list, map or optional field holds.
func inside(path string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return ranges(path, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := ranges(join(path, v.Type().Field(i).Tag.Get("json")), v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			return problem(path, "is nil: an empty list is not null")
		}
		for i := range v.Len() {
			if err := ranges(fmt.Sprintf("%s[%d]", path, i), v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		if v.IsNil() {
			return problem(path, "is nil: an empty map is not null")
		}
		for _, k := range v.MapKeys() {
			at := join(path, k.String())
			if err := ranges(at, k); err != nil {
				return err
			}
			if err := ranges(at, v.MapIndex(k)); err != nil {
				return err
			}
		}
	}
	return nil
}
