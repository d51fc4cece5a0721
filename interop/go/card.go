package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aext"
)

// cardOfTheCaller wants one skill more on the extended card than on the public one.
func (s *suite) cardOfTheCaller(ctx context.Context) error {
	open, err := s.card(ctx, "")
	if err != nil {
		return err
	}
	own, err := s.alice.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
	if err != nil {
		return err
	}
	var more []string
	for _, k := range own.Skills {
		if !slices.ContainsFunc(open.Skills, func(o a2a.AgentSkill) bool { return o.ID == k.ID }) {
			more = append(more, k.ID)
		}
	}
	return wantEqual("skills on the extended card alone", more, []string{"backstage"})
}

// eventSequence is the extension that numbers events in their metadata.
const eventSequence = "https://github.com/skillyard/skillyard/ext/event-sequence/v1"

// number is that of a task or an event; 0 without the extension.
func number(metadata map[string]any) float64 {
	m, _ := metadata[eventSequence].(map[string]any)
	n, _ := m["sequence"].(float64)
	return n
}

func (s *suite) eventsNumbered(ctx context.Context) error {
	card, err := s.card(ctx, "")
	if err != nil {
		return err
	}
	client, err := s.connectWith(ctx, card, bearer{token: aliceToken}, a2aext.NewActivator(eventSequence))
	if err != nil {
		return err
	}
	without, err := sendTask(ctx, s.alice, text("@chunks 2 10"))
	if err != nil {
		return err
	}
	if n := number(without.Metadata); n != 0 {
		return fmt.Errorf("got number %v without the extension", n)
	}
	t, err := sendTask(ctx, client, text("@chunks 2 10"))
	if err != nil {
		return err
	}
	numbers, err := numbersOf(ctx, client)
	if err != nil {
		return err
	}
	if !slices.IsSorted(numbers) || len(slices.Compact(slices.Clone(numbers))) != len(numbers) || len(numbers) < 4 {
		return fmt.Errorf("numbers in a stream: %v", numbers)
	}
	return wantEqual("number of the last event", numbers[len(numbers)-1], number(t.Metadata))
}

// numbersOf streams two chunks and returns the numbers of the events.
func numbersOf(ctx context.Context, client *a2aclient.Client) (numbers []float64, err error) {
	for ev, e := range client.SendStreamingMessage(ctx, text("@chunks 2 10")) {
		if e != nil {
			return nil, e
		}
		numbers = append(numbers, number(ev.Meta()))
	}
	return numbers, nil
}
