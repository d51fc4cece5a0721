package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
)

type pollInput struct {
	TaskID string `json:"task_id,omitempty" jsonschema:"the task; without it the newest pending one is meant"`
	Agent  string `json:"agent,omitempty" jsonschema:"the agent's name; without task_id it chooses among that agent's tasks"`
	Wait   int    `json:"wait_seconds,omitempty" jsonschema:"wait up to so many seconds for the result, at most 20; 0 looks once"`
}

type cancelInput struct {
	TaskID string `json:"task_id" jsonschema:"the task to end"`
	Agent  string `json:"agent,omitempty" jsonschema:"the agent's name; only needed if two agents have a task of that id"`
}

type listInput struct {
	Agent string `json:"agent,omitempty" jsonschema:"list the tasks of this agent only"`
}

// poll is a2a_poll.
func (s *Server) poll(ctx context.Context, in pollInput) (answer, error) {
	if in.Wait < 0 || in.Wait > 20 {
		return answer{}, trouble("wait_seconds must be between 0 and 20. The task goes on whether you wait or not.")
	}
	k, err := s.lookup(ctx, in.TaskID, in.Agent)
	if err != nil {
		return answer{}, err
	}
	end := time.Now().Add(time.Duration(in.Wait) * time.Second)
	if k.Sending() {
		var task *a2a.Task
		if k, task, err = s.recover(ctx, k); err != nil {
			return answer{}, err
		}
		if task != nil && (task.Status.State.Settled() || time.Until(end) <= 0) {
			return s.show(k.agent, k.name(), task), nil
		}
	}
	task, err := s.current(ctx, k, max(0, time.Until(end)))
	if err != nil {
		return answer{}, err
	}
	return s.show(k.agent, k.name(), task), nil
}

// current returns a task as it is now: from the registry if it has ended, else from its
// agent, for which it waits at most so long to settle. What it sees is recorded.
func (s *Server) current(ctx context.Context, k known, wait time.Duration) (*a2a.Task, error) {
	switch {
	case k.Ended() && k.Answer != nil:
		return k.Answer, nil
	case k.NotSent():
		return nil, troublef("There is no such task at %s: %s.", k.agent.Name, whyNotSent(k))
	case k.Sending():
		return nil, troublef("%s cannot be read yet: %s.", k.Ref, hint(k, a2a.Now()))
	}
	record := context.WithoutCancel(ctx)
	task, err := s.look(ctx, k, wait)
	if err != nil {
		words := s.words(k.agent, err)
		if client.KindOf(err) == client.KindTaskNotFound {
			if _, lerr := s.Registry.LostTask(record, k.Ref, string(words)); lerr != nil {
				return nil, lerr
			}
			return nil, troublef("%s does not know task %s any more, so it is no longer pending. Send the work again if it is still needed.", k.agent.Name, k.name())
		}
		if _, ferr := s.Registry.Failed(record, k.Ref, string(words)); ferr != nil {
			return nil, ferr
		}
		return nil, words.with("The task stays pending.")
	}
	entry, err := s.Registry.Polled(record, k.Ref, task)
	if err != nil {
		return nil, err
	}
	// Another process may have seen the end meanwhile; that counts.
	if entry.Ended() && entry.Answer != nil {
		return entry.Answer, nil
	}
	return task, nil
}

// look asks the agent for a task, and again until it settles or the time to wait is
// over.
func (s *Server) look(ctx context.Context, k known, wait time.Duration) (*a2a.Task, error) {
	end := time.Now().Add(wait)
	task, err := k.agent.Client.Get(ctx, k.TaskID, nil)
	if err != nil || wait == 0 || task.Status.State.Settled() {
		return task, err
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	later, err := k.agent.Client.Wait(ctx, k.TaskID, client.WaitOptions{})
	if err != nil {
		s.Log.Debug().Str("agent", k.agent.Name).Err(err).Msg("waited in vain")
	}
	if later != nil {
		return later, nil
	}
	return task, nil
}

// show says how a task is, which tools know by a name, and what to do next.
func (s *Server) show(agent *Agent, name string, t *a2a.Task) answer {
	v := view(agent, name, t, s.MaxText)
	switch state := t.Status.State; {
	case state == a2a.StateInputRequired:
		v.Hint = fmt.Sprintf("It waits for an answer: call a2a_reply with task_id %q and the answer as text.", name)
	case state == a2a.StateAuthRequired:
		v.Hint = fmt.Sprintf("It waits for an authorisation that only your user can give. When that is done, say so with a2a_reply, task_id %q.", name)
	case !state.Terminal():
		v.Hint = fmt.Sprintf("It goes on by itself. Go on with your own work, and collect the result later with a2a_poll, task_id %q.", name)
	}
	return answer{text: v.String(), task: v}
}

// cancel is a2a_cancel.
func (s *Server) cancel(ctx context.Context, in cancelInput) (answer, error) {
	if in.TaskID == "" {
		return answer{}, trouble("Say which task is meant: task_id is missing.")
	}
	k, err := s.lookup(ctx, in.TaskID, in.Agent)
	if err != nil {
		return answer{}, err
	}
	record := context.WithoutCancel(ctx)
	switch {
	case k.Sending():
		if err := s.Registry.Forget(record, k.Ref); err != nil {
			return answer{}, err
		}
		return answer{text: fmt.Sprintf("%s is off the list. If %s got the work after all, it does it all the same.", k.name(), k.agent.Name)}, nil
	case k.Ended():
		return answer{}, note(fmt.Sprintf("There is nothing to end: %s at %s is %s already.", k.name(), k.agent.Name, k.state()))
	}
	task, err := k.agent.Client.Cancel(ctx, k.TaskID)
	if err != nil {
		return s.failedCancel(ctx, k, err)
	}
	entry, err := s.Registry.Streamed(record, k.Ref, task, "")
	if err != nil {
		return answer{}, err
	}
	if entry.Ended() && entry.Answer != nil {
		task = entry.Answer
	}
	return s.show(k.agent, k.name(), task), nil
}

// failedCancel says how the task is that could not be ended: it may have ended just
// before, or be unknown.
func (s *Server) failedCancel(ctx context.Context, k known, err error) (answer, error) {
	words := s.words(k.agent, err)
	switch client.KindOf(err) {
	case client.KindTaskNotFound, client.KindRefused, client.KindUnsupported:
	default:
		return answer{}, words.with("The task was not ended.")
	}
	task, perr := s.current(ctx, k, 0)
	var lost trouble
	switch {
	case errors.As(perr, &lost):
		return answer{}, lost
	case perr != nil:
		return answer{}, perr
	}
	shown := s.show(k.agent, k.name(), task)
	if task.Status.State.Terminal() {
		shown.text = "It had ended before it could be cancelled. " + shown.text
		return shown, nil
	}
	return answer{task: shown.task}, words.with("The task was not ended; it is " + string(task.Status.State) + ".")
}

// list is a2a_pending.
func (s *Server) list(_ context.Context, in listInput) (answer, error) {
	if in.Agent == "" {
		return answer{all: true}, nil
	}
	agent, err := s.choose(in.Agent)
	if err != nil {
		return answer{}, err
	}
	return answer{all: true, agent: agent.Name}, nil
}
