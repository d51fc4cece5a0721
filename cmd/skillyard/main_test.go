package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skillyard/skillyard/configs"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"skillyard": main})
}

// readySocket is the key of the socket on which a script's server says that it
// serves.
type readySocket struct{}

// TestScripts runs the command line as people do. Beside the usual commands:
//
//	ready                       wait for the server, set $URL to its address
//	signal INT|TERM...          send signals to the newest command in the background
//	http METHOD URL [-H h]... [-d body]   the answer's status line, headers and body as stdout
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			// Socket paths are short, and work directories are not.
			dir, err := os.MkdirTemp("", "sy")
			if err != nil {
				return err
			}
			path := filepath.Join(dir, "notify")
			conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
			if err != nil {
				return err
			}
			env.Defer(func() {
				conn.Close()      //nolint:errcheck // the test is over
				os.RemoveAll(dir) //nolint:errcheck // the test is over
			})
			env.Setenv("NOTIFY_SOCKET", path)
			env.Values[readySocket{}] = conn
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready": ready, "http": httpCommand, "signal": signalCommand,
		},
	})
}

func ready(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: ready")
	}
	conn := ts.Value(readySocket{}).(*net.UnixConn)
	ts.Check(conn.SetReadDeadline(time.Now().Add(20 * time.Second)))
	buf := make([]byte, 1024)
	for {
		n, err := conn.Read(buf)
		ts.Check(err)
		_, url, ok := strings.Cut(string(buf[:n]), "STATUS=serving on ")
		if ok {
			ts.Setenv("URL", url)
			return
		}
	}
}

func signalCommand(ts *testscript.TestScript, neg bool, args []string) {
	running := ts.BackgroundCmds()
	if neg || len(args) == 0 || len(running) == 0 {
		ts.Fatalf("usage: signal INT|TERM..., with a command in the background")
	}
	for _, name := range args {
		s := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM}[name]
		ts.Check(running[len(running)-1].Process.Signal(s))
	}
}

func httpCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: http METHOD URL [-H header]... [-d body]")
	}
	body, header := "", http.Header{}
	for i := 2; i+1 < len(args); i += 2 {
		switch args[i] {
		case "-d":
			body = args[i+1]
		case "-H":
			name, value, _ := strings.Cut(args[i+1], ":")
			header.Set(name, strings.TrimSpace(value))
		}
	}
	req, err := http.NewRequest(args[0], args[1], strings.NewReader(body))
	ts.Check(err)
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if neg {
		if err == nil {
			ts.Fatalf("got %s, want no answer", resp.Status)
		}
		return
	}
	ts.Check(err)
	defer resp.Body.Close() //nolint:errcheck // read to the end
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	var b bytes.Buffer
	b.WriteString(resp.Status + "\n")
	ts.Check(resp.Header.Write(&b))
	b.WriteString("\n")
	b.Write(text)
	_, err = io.Copy(ts.Stdout(), &b)
	ts.Check(err)
}

// TestValidate_examples holds the shipped configurations to what the kinds ask for.
func TestValidate_examples(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "configs", "examples", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %v, %v", paths, err)
	}
	for _, path := range paths {
		var out, errOut bytes.Buffer
		if code := run([]string{"validate", path}, []string{"HOME=" + t.TempDir()}, nil, &out, &errOut); code != exitOK {
			t.Errorf("%s: exit code %d\n%s", path, code, errOut.String())
		}
	}
}

func TestProgram_dataDir(t *testing.T) {
	cases := []struct {
		name, flag string
		env        []string
		want       string
	}{
		{"flag", "/f", []string{"A2A_DATA=/e", "HOME=/h"}, "/f"},
		{"variable", "", []string{"A2A_DATA=/e", "XDG_STATE_HOME=/x", "HOME=/h"}, "/e"},
		{"state", "", []string{"XDG_STATE_HOME=/x", "HOME=/h"}, "/x/skillyard"},
		{"relative state is ignored", "", []string{"XDG_STATE_HOME=x", "HOME=/h"}, "/h/.local/state/skillyard"},
		{"home", "", []string{"HOME=/h"}, "/h/.local/state/skillyard"},
		{"nothing", "", nil, ""},
		{"relative home", "", []string{"HOME=h"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := &program{env: configs.Environ(c.env)}
			got, err := p.dataDir(c.flag)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestLocalURL(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080",
		":8080":          "http://127.0.0.1:8080",
		"0.0.0.0:80":     "http://127.0.0.1:80",
		"[::]:80":        "http://127.0.0.1:80",
		"[::1]:80":       "http://[::1]:80",
		"host:80":        "http://host:80",
	} {
		cfg := configs.Default()
		cfg.Server.Addr = addr
		if got, err := localURL(cfg); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", addr, got, err, want)
		}
	}
	cfg := configs.Default()
	cfg.Server.Addr = "127.0.0.1:0"
	if got, err := localURL(cfg); err == nil {
		t.Errorf("port 0: got %q, want an error", got)
	}
}
