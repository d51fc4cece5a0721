package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	// mark stands in the request where the token of each send goes.
	mark = "@@@@@@@@@@@@@@@@"
	// fullEvery is how often an answer is decoded whole instead of searched.
	fullEvery = 512
)

// ask is one kind of request and what a good answer to it is.
type ask struct {
	method string
	text   string // of the message; every mark in it becomes the token
	// good looks at c.body quickly; whole decodes it.
	good  func(c *conn) bool
	whole func(c *conn) error
}

// echo asks for an echo task of A2A 1.0. pad adds that many bytes to its text.
func echo(pad int) ask {
	return ask{
		method: "SendMessage", text: "hello-" + mark + strings.Repeat(".", pad),
		good: func(c *conn) bool {
			return bytes.Contains(c.body, []byte(completed)) && bytes.Contains(c.body, c.token[:])
		},
		whole: (*conn).decodeEcho,
	}
}

const completed = `"TASK_STATE_COMPLETED"`

// conn is one kept-alive HTTP/1.1 connection that sends the same request again and
// again. The request is laid out once; a send only writes the token into it.
type conn struct {
	nc    net.Conn
	r     *bufio.Reader
	ask   ask
	req   []byte
	at    []int // places of the token in req
	token [len(mark)]byte
	n     uint64 // where the tokens have got to
	sent  int
	body  []byte
}

// dial connects.
func dial(addr string, a ask) (*conn, error) {
	nc, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	c := &conn{nc: nc, r: bufio.NewReaderSize(nc, 16<<10), ask: a, n: rand.Uint64()}
	c.req = request(addr, a.method, message("m-"+mark, a.text, `{}`))
	for i := 0; ; {
		j := bytes.Index(c.req[i:], []byte(mark))
		if j < 0 {
			return c, nil
		}
		c.at = append(c.at, i+j)
		i += j + len(mark)
	}
}

// message returns the params of a send.
func message(id, text, configuration string) string {
	return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]},"configuration":` + configuration + `}`
}

// request lays out a JSON-RPC request in HTTP.
func request(addr, method, params string) []byte {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	return fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nContent-Length: %d\r\n\r\n%s",
		addr, len(body), body)
}

func (c *conn) close() { _ = c.nc.Close() } // nothing is lost: every answer has been read

// send makes one request and checks the answer.
func (c *conn) send() error {
	const digits = "0123456789abcdef"
	c.n++
	for i, v := 0, c.n*0x9e3779b97f4a7c15; i < len(c.token); i, v = i+1, v>>4 {
		c.token[i] = digits[v&15]
	}
	for _, at := range c.at {
		copy(c.req[at:], c.token[:])
	}
	if err := c.exchange(c.req); err != nil {
		return err
	}
	if !c.ask.good(c) {
		return fmt.Errorf("not a good answer to %s: %s", c.token, c.body[:min(len(c.body), 600)])
	}
	c.sent++
	if c.sent%fullEvery == 1 {
		return c.ask.whole(c)
	}
	return nil
}

// exchange writes a request and reads its answer, which has to be a 200, into
// c.body.
func (c *conn) exchange(req []byte) error {
	if _, err := c.nc.Write(req); err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	code, err := c.read()
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if code != 200 {
		return fmt.Errorf("HTTP %d %s", code, c.body[:min(len(c.body), 600)])
	}
	return nil
}

// decodeEcho wants the text in an artifact of the task.
func (c *conn) decodeEcho() error {
	var answer struct {
		Result struct {
			Task struct {
				Status    struct{ State string }
				Artifacts []struct{ Parts []struct{ Text string } }
			}
		}
	}
	if err := json.Unmarshal(c.body, &answer); err != nil {
		return fmt.Errorf("decode answer: %w", err)
	}
	t := answer.Result.Task
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			if t.Status.State == "TASK_STATE_COMPLETED" && strings.HasPrefix(p.Text, "hello-"+string(c.token[:])) {
				return nil
			}
		}
	}
	return fmt.Errorf("no artifact with hello-%s: %s", c.token, c.body[:min(len(c.body), 600)])
}

// read takes one answer off the connection; its body is in c.body.
func (c *conn) read() (code int, err error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, fmt.Errorf("status line %q", line)
	}
	if code, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, fmt.Errorf("status line %q", line)
	}
	length, chunked := -1, false
	for {
		if line, err = c.r.ReadSlice('\n'); err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case asciiEqualFold(name, "content-length"):
			length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
			if err != nil {
				return 0, err
			}
		case asciiEqualFold(name, "transfer-encoding"):
			chunked = bytes.Contains(value, []byte("chunked"))
		}
	}
	c.body = c.body[:0]
	switch {
	case chunked:
		return code, c.readChunks()
	case length < 0:
		return 0, errors.New("answer without a length")
	}
	return code, c.readN(length)
}

// readN appends n bytes to the body.
func (c *conn) readN(n int) error {
	at := len(c.body)
	if need := at + n; cap(c.body) < need {
		c.body = append(make([]byte, 0, 2*need), c.body...)
	}
	c.body = c.body[:at+n]
	_, err := io.ReadFull(c.r, c.body[at:])
	return err
}

func (c *conn) readChunks() error {
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimRight(line, "\r\n")), 16, 32)
		if err != nil {
			return err
		}
		if err := c.readN(int(n)); err != nil {
			return err
		}
		if _, err := c.r.Discard(len("\r\n")); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}

func asciiEqualFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range b {
		if b[i]|0x20 != lower[i] && b[i] != lower[i] {
			return false
		}
	}
	return true
}
