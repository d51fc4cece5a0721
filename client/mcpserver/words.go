package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/skillyard/skillyard/client"
)

// words says to a model what went wrong between us and an agent, and what to do. It has
// no address and no chain of causes in it: those are in the log.
func (s *Server) words(agent *Agent, err error) trouble {
	s.Log.Warn().Str("agent", agent.Name).Err(err).Msg("agent call failed")
	var e *client.Error
	if !errors.As(err, &e) {
		if errors.Is(err, context.Canceled) {
			return "The call was cancelled."
		}
		return troublef("%s did not answer within %s. Try again later.", agent.Name, s.CallTimeout)
	}
	says := ""
	if text := oneLine(e.Message, 500); text != "" && (e.Code != 0 || e.Reason != "") {
		says = fmt.Sprintf(" It says: %q", text)
	}
	switch e.Kind {
	case client.KindUnreachable:
		return troublef("%s cannot be reached just now. Try again later; tell your user if it lasts.", agent.Name)
	case client.KindBroken:
		return troublef("The connection to %s broke before its answer was there. Try again later.", agent.Name)
	case client.KindTimeout:
		return troublef("%s did not answer in time. Try again later.", agent.Name)
	case client.KindForbidden:
		return troublef("The card of %s, or a redirect, points to an address that must not be called. Your user has to look at its entry in the agents file (url, allow_private).", agent.Name)
	case client.KindAuth:
		return troublef("%s refuses our credentials.%s Trying again does not help: your user has to renew them in the agents file.", agent.Name, says)
	case client.KindBusy:
		return troublef("%s is too busy just now.%s Try again %s.", agent.Name, says, later(e.RetryAfter))
	case client.KindNoCard:
		return troublef("%s has no agent card where its entry in the agents file points. Your user has to look at the url there.", agent.Name)
	case client.KindTaskNotFound:
		return troublef("%s does not know the task.%s", agent.Name, says)
	case client.KindUnsupported:
		return troublef("%s cannot do that.%s", agent.Name, says)
	case client.KindRefused:
		return troublef("%s refuses.%s", agent.Name, says)
	case client.KindInvalid:
		return troublef("What answers in the place of %s is no A2A agent, or has a fault: its answer is none of the protocol's. Tell your user if it lasts.", agent.Name)
	case client.KindTooLarge:
		return troublef("The answer of %s is larger than can be read here.", agent.Name)
	case client.KindUsage:
		return troublef("%s cannot be called: your user has to look at its entry in the agents file.", agent.Name)
	}
	return troublef("The call of %s failed. Tell your user to look at the log of 'skillyard mcp'.", agent.Name)
}

func later(after time.Duration) string {
	if after <= 0 {
		return "in a minute"
	}
	return "in " + ago(after.Round(time.Second))
}

// with adds a sentence.
func (t trouble) with(sentence string) trouble {
	return trouble(strings.TrimSpace(string(t) + " " + sentence))
}
