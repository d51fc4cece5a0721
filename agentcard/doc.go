// Package agentcard builds the agent card and serves it.
//
// A card has three forms: Hybrid, which clients of A2A 0.3 and 1.0 understand, and
// the pure V03 and V1. A full card lists every skill; a focused card, under
// /skills/{id}, is the card of an agent that has one skill only.
//
// The full card names the same endpoints wherever it was fetched: clients look for a
// card relative to whatever URL they were given, and all of them shall end up with the
// same ones. A focused card names those of its skill.
//
// A card is for an audience: the public one leaves private skills out, and the extended
// one shows what its caller may use. The pure forms can be signed (Signer), and any card
// be verified (KeySet).
//
// What {base} is must not be for a stranger to say: a card is cached and passed
// on, so its URLs decide where other people's requests and keys go. Resolver
// builds it from the configured URL, else from the headers of trusted proxies,
// else from the address the server really listens on; the Host header counts only
// if it cannot lead anybody away.
package agentcard
