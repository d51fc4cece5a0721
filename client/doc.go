// Package client talks to any A2A agent: it resolves the agent's card, chooses one of
// the interfaces in it, and sends, streams, polls, cancels and subscribes over it. It
// speaks A2A 1.0 and 0.3 (with 0.2 and FastA2A) over JSON-RPC, both over HTTP+JSON, and
// the EMM dialect.
//
//	c, err := client.New("https://agents.example.com", client.Options{Token: token})
//	a, err := c.Send(ctx, client.Text("last week"))   // the task id, at once
//	t, err := c.Wait(ctx, a.Task.ID, client.WaitOptions{})  // later: its end, or a question
//
// What it promises:
//
//   - One rule for success. Only an answer of the right media type, of the right shape
//     and for the right request is one. An HTML page, a JSON error on a stream, a stream
//     that was cut, a foreign id are errors, never a task that has ended well.
//   - Work is not done twice. What may have reached the agent is repeated only if that
//     is harmless: for reads, and for sends whose agent declares that it honours
//     Idempotency-Key. What cannot have reached it is repeated freely, within
//     Options.Retry.
//   - A stream that was lost goes on: by its last event id, else by a new subscription,
//     else by polling. What came in between is read.
//   - Limits hold for what is unpacked, and for the task that a stream adds up to.
//   - Credentials go to the origin that the caller named and to no other, whatever a card
//     says and whoever redirects. Addresses that a public card names must be public.
//   - Every wait ends with its context.
//
// A Client is safe for concurrent use. It starts no goroutine that outlives a call.
package client
