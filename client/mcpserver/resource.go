package mcpserver

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillyard/skillyard/a2a"
)

// PendingURI is the resource with the pending tasks.
const PendingURI = "a2a://pending"

func (s *Server) addResources() {
	s.mcp.AddResource(&mcp.Resource{
		URI: PendingURI, Name: "pending", Title: "Pending tasks", MIMEType: "application/json",
		Description: "The tasks that were sent and not collected yet. Subscribe to it to learn of changes, also of those that other programs make.",
	}, s.readPending)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: "a2a://tasks/{agent}/{id}", Name: "task", Title: "A task and its results", MIMEType: "text/plain",
		Description: "A task with the whole text of its results, also where a tool's answer cuts them.",
	}, s.readTask)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: "a2a://tasks/{agent}/{id}/files/{n}", Name: "file", Title: "A file among a task's results",
		Description: "The content of a file. Its number is where the task's results name it.",
	}, s.readTask)
}

// readPending reads the pending list.
func (s *Server) readPending(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	list, err := s.pending(ctx, answer{all: true})
	if err != nil {
		s.Log.Error().Err(err).Msg("list pending tasks")
		return nil, failure(internal)
	}
	b, err := encode(output{Pending: list.views, More: list.more})
	if err != nil {
		return nil, err
	}
	return s.contents(&mcp.ResourceContents{URI: PendingURI, MIMEType: "application/json", Text: string(b)}), nil
}

// readTask reads a task, or a file among its results.
func (s *Server) readTask(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	agent, id, n, ok := parseTaskURI(uri)
	if !ok || s.find(agent) == nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	ctx, cancel := context.WithTimeout(ctx, s.CallTimeout)
	defer cancel()
	k, err := s.lookup(ctx, id, agent)
	var task *a2a.Task
	if err == nil {
		task, err = s.current(ctx, k, 0)
	}
	var words trouble
	switch {
	case errors.As(err, &words):
		return nil, failure(words)
	case err != nil:
		s.Log.Error().Err(err).Msg("read task")
		return nil, failure(internal)
	}
	if n == 0 {
		return s.contents(&mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: view(k.agent, k.name(), task, -1).String()}), nil
	}
	list := files(task)
	if n > len(list) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	content, err := base64.StdEncoding.DecodeString(list[n-1].Raw)
	if err != nil {
		return nil, failure("The agent's file is not encoded as the protocol says.")
	}
	return s.contents(&mcp.ResourceContents{URI: uri, MIMEType: list[n-1].MediaType, Blob: content}), nil
}

// contents makes an answer of a resource, without the agents' credentials in it.
func (s *Server) contents(c *mcp.ResourceContents) *mcp.ReadResourceResult {
	c.Text = s.mask.Replace(c.Text)
	if c.Blob != nil {
		c.Blob = []byte(s.mask.Replace(string(c.Blob)))
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}
}

// failure is how words for a reader are sent where no tool's answer can carry them.
func failure(words trouble) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: string(words)}
}

// parseTaskURI takes the URI of a task, or of a file, apart; n is 0 for the task itself.
func parseTaskURI(uri string) (agent, id string, n int, ok bool) {
	path, ok := strings.CutPrefix(uri, "a2a://tasks/")
	if !ok {
		return "", "", 0, false
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "" {
			return "", "", 0, false
		}
		segments[i] = plain
	}
	switch {
	case len(segments) == 2:
		return segments[0], segments[1], 0, true
	case len(segments) == 4 && segments[2] == "files":
		n, err := strconv.Atoi(segments[3])
		return segments[0], segments[1], n, err == nil && n > 0
	}
	return "", "", 0, false
}
