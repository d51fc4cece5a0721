package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// TestHTTP_SlowReader: an answer that nobody takes is given up after stream.write_timeout,
// whoever asked for it, and one that is taken slowly arrives whole.
func TestHTTP_SlowReader(t *testing.T) {
	const size = 16 << 20
	log := &logWatch{want: "client does not take its answer", seen: make(chan struct{})}
	s := servertest.New(t, servertest.Options{YAML: probeYAML(t), Log: log, Edit: func(c *configs.Config) {
		c.Store.Kind, c.Stream.WriteTimeout = "memory", 500*time.Millisecond
	}})
	a := s.RPC(call("SendMessage", message("@big "+strconv.Itoa(size), "", "")), alice, v10)
	id := taskID(a)
	ask := func() *bufio.Reader {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "GET /rest/tasks/%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\n\r\n", id); err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(conn)
	}

	resp, err := http.ReadResponse(ask(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var got int64
	for began := time.Now(); ; <-tick.C {
		n, err := io.CopyN(io.Discard, resp.Body, 64<<10)
		if got += n; err != nil {
			if got != resp.ContentLength || got < size || time.Since(began) < time.Second {
				t.Errorf("got %d bytes of %d in %v and %v, want all of them, slowly", got, resp.ContentLength, time.Since(began), err)
			}
			break
		}
	}
	select {
	case <-log.seen:
		t.Error("who reads slowly counts as one who does not read")
	default:
	}

	ask()
	select {
	case <-log.seen:
	case <-time.After(20 * time.Second):
		t.Error("the answer that nobody takes was not given up")
	}
}
