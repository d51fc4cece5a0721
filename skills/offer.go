package skills

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// Offer is what one caller may use of a Set. Everything that a caller can ask for
// goes through its offer, so that a skill it may not use and one that does not exist
// are the same: not there.
type Offer struct {
	set    *Set
	caller a2a.Caller
}

// For returns the offer to a caller. Who is restricted to some skills gets no others,
// and a private skill needs a key. The zero Caller may use every skill.
func (s *Set) For(c a2a.Caller) Offer { return Offer{set: s, caller: c} }

// Has reports whether the caller may use the skill of an entry of the set.
func (o Offer) Has(e *Entry) bool {
	if e.Private && o.caller.Anonymous {
		return false
	}
	return len(o.caller.Skills) == 0 || slices.Contains(o.caller.Skills, e.Info.ID)
}

// Get returns the skill with the id, or nil if the caller has no such skill.
func (o Offer) Get(id a2a.SkillID) *Entry {
	if e := o.set.byID[id]; e != nil && o.Has(e) {
		return e
	}
	return nil
}

// All returns the caller's skills in the order of the configuration.
func (o Offer) All() []*Entry {
	all := make([]*Entry, 0, len(o.set.entries))
	for _, e := range o.set.entries {
		if o.Has(e) {
			all = append(all, e)
		}
	}
	return all
}

// Default returns the skill of a request that names none: the set's default, or else
// the only one that the caller may use; nil if there is neither.
func (o Offer) Default() *Entry {
	if o.Has(o.set.def) {
		return o.set.def
	}
	if all := o.All(); len(all) == 1 {
		return all[0]
	}
	return nil
}

// UnknownText is the sentence for a choice that named no skill of the caller's.
func (o Offer) UnknownText(c Choice) string {
	var names []string
	for _, e := range o.All() {
		names = append(names, string(e.Info.ID))
	}
	slices.Sort(names)
	if names == nil {
		names = []string{"none"}
	}
	return fmt.Sprintf("unknown skillId %s; available skills: %s", c.Unknown, strings.Join(names, ", "))
}
