"""Sessions of the real program with agents of other SDKs: send, go on, collect later.

    check.py NAME COMMAND...

NAME is what the checks are called by; COMMAND starts the agent, with a port behind it.
SKILLYARD_BIN is the program.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

BIN = os.environ["SKILLYARD_BIN"]
name, *command = sys.argv[1:]
old = name == "cli-fasta2a"  # no streams, and no further turns of a task
lists = name.startswith("cli-py-1")  # only A2A 1.0 has a list of tasks


class Told(NamedTuple):
    code: int
    out: str
    err: str


class User:
    """A home directory, and an agent that is meant."""

    def __init__(self, home: str, agent: str) -> None:
        keep = {k: os.environ[k] for k in ("PATH",) if k in os.environ}
        self.env = keep | {"HOME": home, "A2A_SERVER": agent}

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen([BIN, *args], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *args: str, code: int = 0) -> Told:
        done = subprocess.run([BIN, *args], env=self.env, capture_output=True, text=True, timeout=60)
        told = Told(done.returncode, done.stdout, done.stderr)
        if told.code != code:
            raise AssertionError(f"{args}: exit code {told.code}, want {code}: {told.out} {told.err}")
        return told

    def send(self, text: str) -> str:
        return self.run("send", text).out.strip()

    def rows(self, *args: str) -> list[dict]:
        return json.loads(self.run(*args, "-o", "json").out)


def equal(got: object, want: object) -> None:
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def has(text: str, pattern: str) -> None:
    if not re.search(pattern, text):
        raise AssertionError(f"no {pattern!r} in {text!r}")


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not done():
        if time.monotonic() > end:
            raise AssertionError("not in 20 s")
        time.sleep(0.05)


def send_pending_poll(u: User) -> None:
    began = time.monotonic()
    id = u.send("sleep 1.5")
    if time.monotonic() - began > 1.4:
        raise AssertionError("the send waited for the task")
    row = u.rows("pending")[0]
    equal((row["task_id"], row["agent_url"], row["prompt"]), (id, u.env["A2A_SERVER"], "sleep 1.5"))
    has(u.run("poll", id, code=8).err, "working|submitted")
    equal(u.run("poll", "--wait", "--interval", "200ms", id).out, "1.5\n")
    equal(u.rows("pending"), [])
    equal(u.run("history", id).out, "1.5\n")


def newest(u: User) -> None:
    u.send("echo first")
    u.send("echo second")
    equal(u.run("poll", "--wait").out, "second\n")
    equal(u.run("poll", "--wait").out, "first\n")


def wait(u: User) -> None:
    equal(u.run("send", "--wait", "--interval", "100ms", "echo at once").out, "at once\n")


def fail(u: User) -> None:
    told = u.run("send", "--wait", "--interval", "100ms", "fail", code=3)
    has(told.err, "failed" if old else "told to fail")


def stream(u: User) -> None:
    if old:  # it does not stream, so it is polled
        equal(u.run("send", "--stream", "echo polled").out, "polled\n")
        return
    equal(u.run("send", "--stream", "chunks 4").out, "chunk-1 chunk-2 chunk-3 chunk-4 \n")


def watch(u: User) -> None:
    ids = [u.send("echo a"), u.send("sleep 1")]
    out = u.run("watch").out
    for id in ids:
        has(out, rf"{id}\tcompleted")
    equal(u.run("history", ids[1]).out, "1\n")


def cancel(u: User) -> None:
    id = u.send("hang")
    until(lambda: "working" in u.run("poll", id, code=8).err)
    u.run("cancel", id)
    until(lambda: subprocess.run([BIN, "poll", id], env=u.env, capture_output=True).returncode == 5)
    equal(u.rows("history")[0]["state"], "canceled")


def reply(u: User) -> None:
    id = u.send("ask")
    until(lambda: subprocess.run([BIN, "poll", id], env=u.env, capture_output=True).returncode == 4)
    if not old:
        equal(u.rows("pending")[0]["question"], "Which colour?")
    equal(u.run("reply", "--wait", "--interval", "100ms", id, "echo", "deep blue").out, "deep blue\n")
    if not old:
        equal(u.rows("pending"), [])


def get(u: User) -> None:
    id = u.send("sleep 1")
    has(u.run("get", id).out, "working|submitted")  # 0 whatever the state is
    u.run("poll", "--wait", "--interval", "100ms", id)
    shown = u.run("get", id).out
    has(shown, id)
    has(shown, "completed")
    has(shown, r"(?m)^1$")
    task = json.loads(u.run("get", id, "-o", "json").out)
    equal((task["id"], task["state"]), (id, "completed"))
    has(u.run("get", "no-such-task", code=1).err, "(?i)task.*not found|-32001")


def list_tasks(u: User) -> None:
    if not lists:
        told = u.run("list", code=1)
        has(told.err, "has no such operation")
        has(told.err, "skillyard pending.*skillyard history")
        equal(told.out, "")
        return
    done, hanging = u.send("echo listed"), u.send("hang")
    until(lambda: {t["id"]: t["state"] for t in u.rows("list")}.items() >= {done: "completed", hanging: "working"}.items())
    has(u.run("list").out, rf"(?m)^{hanging} +working")
    equal([t["id"] for t in u.rows("list", "--status", "working") if t["id"] in (done, hanging)], [hanging])
    u.run("cancel", hanging)


def unknown(u: User) -> None:
    has(u.run("poll", "no-such-task", code=1).err, "(?i)task.*not found|-32001")


def killed_sender(u: User) -> None:
    """The entry of a sender that was killed tells the truth, and is found if the agent can be asked."""
    blocked = u.start("send", "--blocking", "sleep 2")
    until(lambda: len(u.rows("pending")) == 1)
    if lists:
        until(lambda: any(t["state"] == "working" for t in u.rows("list")))
    blocked.send_signal(signal.SIGKILL)
    blocked.wait()
    row = u.rows("pending")[0]
    if row["state"] != "sending":
        return  # the agent does not block, and had answered
    told = u.run("poll", "--wait", row["ref"], code=0 if lists else 1)
    if lists:
        equal(told.out, "2\n")
    else:
        has(told.err, "never came")


def words(u: User) -> None:
    told = u.run("send", "words")
    equal(told.out, "just words\n")


CHECKS = [send_pending_poll, newest, wait, fail, stream, watch, cancel, reply, get, list_tasks, unknown, killed_sender]
if name.startswith("cli-py-1"):
    CHECKS.append(words)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main() -> int:
    port = free_port()
    agent = subprocess.Popen([command[0], command[1], str(port), *command[2:]], stdout=sys.stderr)
    failed = 0
    try:
        def listening() -> bool:
            if agent.poll() is not None:
                raise AssertionError("the agent ended at once")
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", port)) == 0

        until(listening)
        for check in CHECKS:
            with tempfile.TemporaryDirectory() as home:
                try:
                    check(User(home, f"http://127.0.0.1:{port}"))
                except Exception as err:  # a check may fail in any way
                    failed += 1
                    print(f"FAIL {name}/{check.__name__}: " + " | ".join(f"{type(err).__name__}: {err}".split("\n")[:6])[:900], flush=True)
                else:
                    print(f"ok {name}/{check.__name__}", flush=True)
    finally:
        agent.terminate()
        agent.wait(10)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
