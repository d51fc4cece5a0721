package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// supportedVersions is what version_not_supported names, oldest first.
const supportedVersions = NameV03 + ", " + NameV1

// Detect chooses the dialect and the method of a JSON-RPC request by its method
// name and its A2A-Version ("" when it has none; A2A 1.0 §3.6.2):
//
//	version        method     outcome
//	0.3, 1.0, none EMM        EMM
//	0.3, 1.0, none 0.1        0.1 (but for what it shares with 0.3: see Shape)
//	0.3, none      0.3        0.3
//	1.0            1.0        1.0
//	none           1.0        1.0, or version_not_supported with StrictVersion
//	0.3            1.0        method_not_found
//	1.0            0.3        method_not_found
//	0.3, 1.0, none other      method_not_found
//	other          any        version_not_supported
//
// A version is Major.Minor with an optional patch number, which is ignored. The
// dialect is never nil: with an error it is the one to write the error in. The method
// is then empty, or with version_not_supported the one of that name in any version, for
// the form of the answer.
func (d *Dialects) Detect(method, version string) (*Dialect, Method, *a2a.Error) {
	v, ok := parseVersion(version)
	x := d.methods[method]
	switch {
	case !ok && x == nil:
		return d.V1, Method{}, versionNotSupported(version, supportedVersions)
	case !ok:
		return d.V1, x.Methods[method], versionNotSupported(version, supportedVersions)
	case x == nil:
	case x == d.V1 && v == "" && d.strict:
		return d.V1, x.Methods[method], versionNotSupported(version, supportedVersions)
	case x.serves(v):
		return x, x.Methods[method], nil
	}
	x = d.V1
	if v == NameV03 || v == "" && strings.Contains(method, "/") {
		x = d.V03
	}
	return x, Method{}, &a2a.Error{
		Code:    a2a.CodeMethodNotFound,
		Message: "Method not found",
		Details: map[string]string{"methods": strings.Join(d.methodsOf(v), ", ")},
	}
}

// methodsOf returns the sorted names of the methods served under a version.
func (d *Dialects) methodsOf(version string) []string {
	var names []string
	for name, x := range d.methods {
		if x.serves(version) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func versionNotSupported(version, supported string) *a2a.Error {
	if len(version) > 32 {
		version = version[:32]
	}
	says := "A2A version " + strconv.QuoteToASCII(version) + " is not supported"
	if version == "" { // as compat.strict_version has it
		says = "The request has to name its version in A2A-Version"
	}
	return &a2a.Error{
		Code:    a2a.CodeVersionNotSupported,
		Message: says + "; supported versions: " + supported,
		Details: map[string]string{"supportedVersions": supported},
	}
}

// parseVersion returns the supported version that v names, "" when v is empty,
// and false when it is no supported version.
func parseVersion(v string) (string, bool) {
	switch v = strings.TrimSpace(v); v {
	case "", NameV03, NameV1:
		return v, true
	}
	fields := strings.Split(v, ".")
	if len(fields) != 2 && len(fields) != 3 {
		return "", false
	}
	for _, f := range fields {
		if f == "" || len(f) > 9 || strings.Trim(f, "0123456789") != "" {
			return "", false
		}
	}
	switch v = fields[0] + "." + fields[1]; v {
	case NameV03, NameV1:
		return v, true
	}
	return "", false
}
