package spi

import (
	"errors"
	"fmt"
)

// ErrorKind classifies a failed operation. The four contract kinds are what a
// provider may answer (L6, R5); the last two only come from a target's adapter.
type ErrorKind string

const (
	// KindArgument is the language's argument-validation error, raised before
	// any I/O (L6.argument-error).
	KindArgument ErrorKind = "argument"
	// KindTimeout says that the operation timeout passed; the outcome is
	// unknown (R5.timeout).
	KindTimeout ErrorKind = "timeout"
	// KindCancelled says that the caller's token was cancelled.
	KindCancelled ErrorKind = "cancelled"
	// KindStoreFailure is every other fault of the store (L6.failure-class).
	KindStoreFailure ErrorKind = "store-failure"
	// KindUnsupported says that the target does not offer the operation.
	KindUnsupported ErrorKind = "unsupported"
	// KindInternal says that the adapter itself failed.
	KindInternal ErrorKind = "internal"
)

// Error is a failed operation.
type Error struct {
	Kind    ErrorKind
	Type    string // the provider's own error type, for people
	Message string
	Err     error // the cause, if there is one in this process
}

func (e *Error) Error() string {
	if e.Type == "" {
		return fmt.Sprintf("%s: %s", e.Kind, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", e.Kind, e.Type, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the *Error in err's chain, or "" if there is none.
func KindOf(err error) ErrorKind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// Argument returns an argument error with a formatted message.
func Argument(format string, args ...any) *Error {
	return &Error{Kind: KindArgument, Message: fmt.Sprintf(format, args...)}
}
