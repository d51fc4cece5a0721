// Package pending is the pending registry: what is known of every task that was sent
// to a remote agent and not collected yet, and what became of those that ended. It is
// one SQLite file that any number of processes open at once, so that a task sent by
// one can be collected by another, after a reboot as well.
//
// # The life of an entry
//
//	Begin ──► sending ──Accepted──► pending ──Polled, Streamed──► ended
//	             │                  │  ▲  │
//	             │                  └──┘  └──LostTask──► ended, lost
//	             │            Polled, Streamed, Failed, Begin (a reply)
//	             ├──Answered──► ended, completed
//	             └──Rejected──► ended, not sent
//
// Begin is called before the request is on the wire. A process that dies after it
// leaves an entry that is "sending": whether the agent has the task is not known, and
// a repeated send with the entry's Key finds out. An ended entry is in the history
// until Prune or Forget.
//
// # What holds between processes
//
// Every change is one transaction and is on disk when the method returns. The last
// write counts until the end is seen; after that no write takes the entry back to
// pending, since another process may have seen the end first. Polls are counted even
// then. A task, that is a task id at an agent's URL, has one pending entry at most.
// A client that chooses its ids may run a task again under the same one: each run
// has an entry, with a ref of its own, so that a late poll of an earlier run cannot
// end the later one and no answer is lost.
//
// A context that ends undoes the change under way. Who records what already happened
// should therefore use context.WithoutCancel.
//
// Prompts, questions and answers are private: file and directory are made for this
// user only, and what is deleted is overwritten in the database file.
package pending
