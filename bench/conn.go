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

// conn is one kept-alive HTTP/1.1 connection that sends echo tasks. The request
// is laid out once; a send only writes the token into it.
type conn struct {
	nc    net.Conn
	r     *bufio.Reader
	req   []byte
	at    []int // places of the token in req
	token [len(mark)]byte
	n     uint64 // where the tokens have got to
	sent  int
	body  []byte
}

// dial connects. pad adds that many bytes to the text of every task.
func dial(addr string, pad int) (*conn, error) {
	nc, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-` + mark +
		`","role":"ROLE_USER","parts":[{"text":"hello-` + mark + strings.Repeat(".", pad) + `"}]},"configuration":{}}}`
	c := &conn{nc: nc, r: bufio.NewReaderSize(nc, 16<<10), n: rand.Uint64()}
	c.req = fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nContent-Length: %d\r\n\r\n%s",
		addr, len(body), body)
	for i := 0; ; {
		j := bytes.Index(c.req[i:], []byte(mark))
		if j < 0 {
			return c, nil
		}
		c.at = append(c.at, i+j)
		i += j + len(mark)
	}
}

func (c *conn) close() { _ = c.nc.Close() } // nothing is lost: every answer has been read

// send makes one echo task and checks the answer.
func (c *conn) send() error {
	const digits = "0123456789abcdef"
	c.n++
	for i, v := 0, c.n*0x9e3779b97f4a7c15; i < len(c.token); i, v = i+1, v>>4 {
		c.token[i] = digits[v&15]
	}
	for _, at := range c.at {
		copy(c.req[at:], c.token[:])
	}
	if _, err := c.nc.Write(c.req); err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	code, err := c.read()
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if code != 200 || !bytes.Contains(c.body, []byte("TASK_STATE_COMPLETED")) || !bytes.Contains(c.body, c.token[:]) {
		return fmt.Errorf("not a completed echo of %s: HTTP %d %s", c.token, code, c.body[:min(len(c.body), 600)])
	}
	c.sent++
	if c.sent%fullEvery == 1 {
		return c.decode()
	}
	return nil
}

// decode reads the whole answer and wants the text in an artifact.
func (c *conn) decode() error {
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
