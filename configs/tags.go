package configs

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-playground/validator/v10"
)

// tagFaults calls fault for each validate tag of a struct that does not hold.
func tagFaults(s any, fault func(path, message string)) {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string { return keyOf(f) })
	var faults validator.ValidationErrors
	if !errors.As(v.Struct(s), &faults) {
		return // nil: a struct is always a valid argument
	}
	for _, f := range faults {
		_, path, _ := strings.Cut(f.Namespace(), ".")
		fault(path, sentence(f))
	}
}

// sentence says what a failed tag asks for.
func sentence(f validator.FieldError) string {
	param := f.Param()
	switch f.Tag() {
	case "required":
		return "is required"
	case "oneof":
		return fmt.Sprintf("is %q; must be one of %s", f.Value(), strings.ReplaceAll(param, " ", ", "))
	case "gt":
		if param == "" || param == "0" {
			return "must be greater than 0"
		}
		return "must be greater than " + param
	case "gte":
		return "must be at least " + param
	case "lte":
		return "must be at most " + param
	case "min":
		return "must have at least " + param
	case "max":
		return "must have at most " + param + " characters"
	case "len":
		return "must have " + param + " characters"
	case "hexadecimal":
		return "must be hexadecimal"
	case "timezone":
		return fmt.Sprintf("%q is not a time zone such as UTC or Europe/Kyiv", f.Value())
	}
	return "does not satisfy " + f.Tag()
}
