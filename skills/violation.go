package skills

import (
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/skillyard/skillyard/a2a"
)

// Bounds of what is said of a value that does not fit.
const (
	maxViolations = 10
	maxPointer    = 200 // bytes of a pointer that are shown
	maxAllowed    = 12  // permitted values that are listed
	maxSpoken     = 3   // violations in a sentence
)

// Sentence puts violations into words: "/board_id: is required". The pointer of the
// whole value is empty, so that is called "the data".
func Sentence(list []a2a.FieldViolation) string {
	var b strings.Builder
	for i, v := range list {
		if i == maxSpoken {
			b.WriteString("; and " + strconv.Itoa(len(list)-i) + " more")
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		if v.Field == "" {
			b.WriteString("the data " + v.Description)
			continue
		}
		b.WriteString(v.Field + ": " + v.Description)
	}
	return b.String()
}

// violations lists what an error says, by place.
func violations(err *jsonschema.ValidationError) []a2a.FieldViolation {
	var list []a2a.FieldViolation
	gather(err, func(at []string, what string) {
		p := jsontext.Pointer("")
		for _, token := range at {
			p = p.AppendToken(token)
		}
		list = append(list, a2a.FieldViolation{Field: clipPointer(string(p)), Description: what})
	})
	// The order of members is lost in the value that was checked.
	slices.SortFunc(list, func(a, b a2a.FieldViolation) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Description, b.Description))
	})
	list = slices.Compact(list)
	return list[:min(len(list), maxViolations)]
}

func clipPointer(p string) string {
	if len(p) > maxPointer {
		return strings.ToValidUTF8(p[:maxPointer], "") + "…"
	}
	return p
}

// gather calls add for each fault at the leaves of an error. Where a value fits none
// of several alternatives the fault is the value's: which of them was meant is not
// known.
func gather(e *jsonschema.ValidationError, add func(at []string, what string)) {
	at := slices.Clip(e.InstanceLocation)
	each := func(names []string, what string) {
		for _, name := range names {
			add(append(at, name), what)
		}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		each(k.Missing, "is required")
	case *kind.DependentRequired:
		each(k.Missing, "is required beside "+strconv.Quote(k.Prop))
	case *kind.AdditionalProperties:
		each(k.Properties, "is not allowed")
	case *kind.AnyOf:
		add(at, alternatives(e))
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			add(at, "fits more than one of the alternatives")
			return
		}
		add(at, alternatives(e))
	default:
		_, all := k.(*kind.AllOf)
		_, group := k.(*kind.Group)
		_, whole := k.(*kind.Schema)
		_, ref := k.(*kind.Reference)
		if (all || group || whole || ref) && len(e.Causes) > 0 {
			for _, cause := range e.Causes {
				gather(cause, add)
			}
			return
		}
		add(at, words(e.ErrorKind))
	}
}

// alternatives says what a value should be that fits none of several schemas: their
// types, if that is all that is wrong.
func alternatives(e *jsonschema.ValidationError) string {
	var want []string
	got := ""
	for _, cause := range e.Causes {
		k, ok := cause.ErrorKind.(*kind.Type)
		if !ok || len(cause.InstanceLocation) != len(e.InstanceLocation) {
			return "fits none of the alternatives"
		}
		want, got = append(want, k.Want...), k.Got
	}
	return words(&kind.Type{Want: want, Got: got})
}

// words says what is wrong with a value, without the value.
func words(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		want := make([]string, len(k.Want))
		for i, t := range k.Want {
			want[i] = typeName(t)
		}
		return "must be " + strings.Join(want, " or ") + ", not " + typeName(k.Got)
	case *kind.Enum:
		return "must be " + oneOf(k.Want)
	case *kind.Const:
		return "must be " + oneOf([]any{k.Want})
	case *kind.Format:
		return "is not a valid " + k.Want
	case *kind.Pattern:
		return "must match " + strconv.Quote(k.Want)
	case *kind.MinLength:
		return "must have at least " + count(k.Want, "character")
	case *kind.MaxLength:
		return "must have at most " + count(k.Want, "character")
	case *kind.MinItems:
		return "must have at least " + count(k.Want, "element")
	case *kind.MaxItems:
		return "must have at most " + count(k.Want, "element")
	case *kind.MinProperties:
		return "must have at least " + count(k.Want, "member")
	case *kind.MaxProperties:
		return "must have at most " + count(k.Want, "member")
	case *kind.UniqueItems:
		return "must not have equal elements"
	case *kind.Contains, *kind.MinContains:
		return "lacks an element that it must have"
	case *kind.MaxContains:
		return "has too many elements of a kind"
	case *kind.Minimum:
		return "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "must be at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be greater than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + number(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + number(k.Want)
	case *kind.PropertyNames:
		return "has a member whose name is not allowed"
	case *kind.FalseSchema:
		return "is not allowed"
	}
	return "does not fit the schema"
}

func typeName(t string) string {
	switch t {
	case "null":
		return "null"
	case "boolean":
		return "true or false"
	case "array", "integer", "object":
		return "an " + t
	}
	return "a " + t
}

// oneOf lists values of the schema.
func oneOf(values []any) string {
	if len(values) > maxAllowed {
		return "one of the permitted values"
	}
	list := make([]string, len(values))
	for i, v := range values {
		b, err := json.Marshal(v)
		if err != nil || len(b) > maxPointer {
			return "one of the permitted values"
		}
		list[i] = string(b)
	}
	if len(list) == 1 {
		return list[0]
	}
	return "one of " + strings.Join(list, ", ")
}

func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// number writes a bound as a decimal number.
func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
