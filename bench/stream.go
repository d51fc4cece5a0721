package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// streamChunks is the number of chunks in a task of the streaming slices.
const streamChunks = 10

// burst asks for a stream: a task that puts out one artifact in n chunks.
func burst(n int) ask {
	return ask{
		method: "SendStreamingMessage", text: fmt.Sprintf("@burst %d", n),
		good: func(c *conn) bool {
			last := bytes.LastIndex(c.body, []byte("data:"))
			return last > 0 && bytes.Contains(c.body, c.token[:]) &&
				bytes.Contains(c.body[last:], []byte(completed)) &&
				bytes.Count(c.body, []byte(`"artifactUpdate":`)) == n
		},
		whole: func(c *conn) error { return c.decodeStream(n) },
	}
}

// frame is what the benchmark looks at in an event.
type frame struct {
	Result struct {
		Task           *struct{ ID string }
		StatusUpdate   *struct{ Status struct{ State string } }
		ArtifactUpdate *struct {
			Append   bool
			Artifact struct{ Parts []struct{ Text string } }
		}
	}
}

// decodeStream wants the task first, n chunks that belong together, and the end
// last.
func (c *conn) decodeStream(n int) error {
	chunks, ended := 0, false
	for line := range bytes.Lines(c.body) {
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		var f frame
		if err := json.Unmarshal(data, &f); err != nil {
			return fmt.Errorf("decode frame: %w", err)
		}
		switch u := f.Result.ArtifactUpdate; {
		case ended:
			return fmt.Errorf("a frame after the end: %s", data)
		case u != nil:
			if len(u.Artifact.Parts) != 1 || len(u.Artifact.Parts[0].Text) != 16 || u.Append != (chunks > 0) {
				return fmt.Errorf("chunk %d: %s", chunks, data)
			}
			chunks++
		case f.Result.StatusUpdate != nil:
			ended = f.Result.StatusUpdate.Status.State == "TASK_STATE_COMPLETED"
		}
	}
	if chunks != n || !ended {
		return fmt.Errorf("%d chunks of %d, ended: %t", chunks, n, ended)
	}
	return nil
}

// begin starts a task and returns its id without waiting for its end.
func begin(addr, text string) (string, error) {
	c, err := dial(addr, ask{})
	if err != nil {
		return "", err
	}
	defer c.close()
	if err := c.exchange(request(addr, "SendMessage", message("m-1", text, `{"returnImmediately":true}`))); err != nil {
		return "", err
	}
	var answer struct {
		Result struct{ Task struct{ ID string } }
	}
	if err := json.Unmarshal(c.body, &answer); err != nil {
		return "", fmt.Errorf("decode answer: %w", err)
	}
	if answer.Result.Task.ID == "" {
		return "", fmt.Errorf("no task: %s", c.body)
	}
	return answer.Result.Task.ID, nil
}

// subscription returns the request for a stream of a task.
func subscription(addr, task string) []byte {
	return request(addr, "SubscribeToTask", `{"id":"`+task+`"}`)
}

// openStreams opens n streams with the same request, each up to its first event.
func openStreams(addr string, req []byte, n int) ([]net.Conn, error) {
	conns := make([]net.Conn, 0, n)
	buf := make([]byte, 64<<10)
	for range n {
		nc, err := openStream(addr, req, buf)
		if err != nil {
			hangUp(conns)
			return nil, fmt.Errorf("stream %d: %w", len(conns)+1, err)
		}
		conns = append(conns, nc)
	}
	return conns, nil
}

func openStream(addr string, req, buf []byte) (net.Conn, error) {
	nc, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	if err := nc.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := nc.Write(req); err != nil {
		return nil, err
	}
	var n int
	for {
		got, err := nc.Read(buf[n:])
		n += got
		switch {
		case bytes.Contains(buf[:n], []byte(`"task":`)) && bytes.Contains(buf[:n], []byte("\n\n")):
			return nc, nc.SetDeadline(time.Time{})
		case err == nil && n == len(buf):
			err = errors.New("the first event is too long")
			fallthrough
		case err != nil:
			_ = nc.Close() // of no use
			return nil, fmt.Errorf("%w after %q", err, buf[:min(n, 600)])
		}
	}
}

func hangUp(conns []net.Conn) {
	for _, nc := range conns {
		_ = nc.Close() // the streams end nowhere
	}
}
