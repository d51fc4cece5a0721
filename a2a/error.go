package a2a

import (
	"errors"
	"time"
)

// Code is the machine-readable kind of an Error. Package wire maps codes to the
// numbers and names of each dialect in one table.
type Code string

// Codes of requests that the protocol layer refuses.
const (
	CodeParse          Code = "parse_error"
	CodeInvalidRequest Code = "invalid_request"
	CodeMethodNotFound Code = "method_not_found"
	CodeInvalidParams  Code = "invalid_params"
	CodeInternal       Code = "internal"
	// CodeUnsupportedMediaType is about the request itself, as against a part of a
	// message (CodeContentTypeNotSupported).
	CodeUnsupportedMediaType Code = "unsupported_media_type"
	// CodeMethodNotAllowed: the path is known, but not with this HTTP method.
	CodeMethodNotAllowed Code = "method_not_allowed"
)

// Codes of the A2A error table (1.0 §5.4).
const (
	CodeTaskNotFound              Code = "task_not_found"
	CodeTaskNotCancelable         Code = "task_not_cancelable"
	CodePushNotSupported          Code = "push_notification_not_supported"
	CodeUnsupportedOperation      Code = "unsupported_operation"
	CodeContentTypeNotSupported   Code = "content_type_not_supported"
	CodeInvalidAgentResponse      Code = "invalid_agent_response"
	CodeExtendedCardNotConfigured Code = "extended_agent_card_not_configured"
	CodeExtensionRequired         Code = "extension_support_required"
	CodeVersionNotSupported       Code = "version_not_supported"
)

// Codes of this server's own refusals.
const (
	CodeUnauthenticated     Code = "unauthenticated"
	CodeForbidden           Code = "forbidden"
	CodeRateLimited         Code = "rate_limited"
	CodeQueueFull           Code = "queue_full"
	CodeTooLarge            Code = "too_large"
	CodeUnavailable         Code = "unavailable"
	CodeTaskIDConflict      Code = "task_id_conflict"
	CodeIdempotencyConflict Code = "idempotency_conflict"
)

// Codes of failed tasks (Status.Code).
const (
	CodeUnknownSkill        Code = "unknown_skill"
	CodeInvalidInput        Code = "invalid_input"
	CodeNotFound            Code = "not_found"
	CodeUpstreamUnavailable Code = "upstream_unavailable"
	CodeTimeout             Code = "timeout"
	CodeInterrupted         Code = "interrupted"
	CodeOutputTooLarge      Code = "output_too_large"
	CodeNoFinalState        Code = "no_final_state"
	CodeSkillFailed         Code = "skill_failed"
)

// Error is the one error type with a meaning for clients.
type Error struct {
	Code Code
	// Message is public: it is sent to the client and names nothing internal.
	Message string
	// Details are public string facts ("taskId", "limit", …), or nil.
	Details map[string]string
	// Fields name the request members at fault, or nil.
	Fields []FieldViolation
	// RetryAfter is how long the client should wait; 0 when it says nothing.
	RetryAfter time.Duration
	// Err is the cause, for the log only.
	Err error
}

// FieldViolation says what is wrong with one member of a request.
type FieldViolation struct {
	// Field is the member's path, such as "message.parts[0].text".
	Field       string
	Description string
}

// Error returns the public message and the private cause. It is for logs.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf-style construction is left out on purpose: public texts are written
// where they arise, causes are attached with Err.

// AsError returns err's *Error, or an internal one with a fixed text around it.
// It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInternal, Message: "internal error", Err: err}
}

// InvalidParams returns an Error that blames one member of the request.
func InvalidParams(field, description string) *Error {
	return &Error{
		Code:    CodeInvalidParams,
		Message: "Invalid parameters: " + field + " " + description,
		Fields:  []FieldViolation{{Field: field, Description: description}},
	}
}

// TaskNotFound is the answer for a task that does not exist, or that belongs to
// somebody else: the two are one.
func TaskNotFound(id TaskID) *Error {
	return &Error{Code: CodeTaskNotFound, Message: "Task not found", Details: map[string]string{"taskId": string(id)}}
}
