// Package mcpserver lets a model use remote A2A agents through MCP: it sends them work
// without waiting for it, goes on, and collects the results later.
//
//	tool          what it does
//	a2a_send      sends work; answers with the task's id as soon as the agent has taken it
//	a2a_poll      looks at a task once, or waits a few seconds for it; finds out what
//	              became of a send whose answer never came
//	a2a_reply     answers the question of a task that waits for input
//	a2a_cancel    ends a task, or drops a send that was never answered
//	a2a_pending   lists what has not been collected yet
//	a2a_agents    lists the agents and their skills
//
// Every answer of every tool ends with the pending tasks, so that a model that forgot
// one is reminded. The resource a2a://pending is the same list and can be subscribed
// to; a2a://tasks/{agent}/{id} is a task with the whole of its results.
//
// What is pending is in the registry of package pending. It outlives this process, and
// other processes change it too.
//
// What it refuses: a model names agents by the names that the operator gave them. It
// chooses no host, sees no credential, and sees no task of an agent that is not in the
// list, though the registry may hold some.
package mcpserver
