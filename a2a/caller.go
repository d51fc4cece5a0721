package a2a

// Scope is who a stored thing belongs to. It is an argument of every read, so
// that no query can forget it.
type Scope struct {
	Tenant string
	Owner  string
}

// Caller is who makes a request, as the server's authentication found out.
type Caller struct {
	Scope Scope
	// Name is the key's name for logs and limits; "anonymous" without one.
	Name string
	// Anonymous says that no credential was presented (and none was needed).
	Anonymous bool
	// Skills are the only skills the caller may use; empty means all.
	Skills []SkillID
}
