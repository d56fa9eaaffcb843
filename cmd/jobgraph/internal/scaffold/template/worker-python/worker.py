#!/usr/bin/env python3
"""A worker in Python that needs nothing but Python: it speaks the NATS protocol over a socket.

    NATS_URL=nats://127.0.0.1:4222 ./worker.py POOL

It takes one piece of work at a time from the pool's durable consumer, does it, publishes the report under the id that
the work message carries, waits until the bus has stored it, and acknowledges the work. That is the basic level of the
contract: at least once. While the work runs, +WPI tells the bus every few seconds that it is still in hand.

SIGTERM or SIGINT: the current work is finished and reported, then the worker ends; an idle one ends with its request
for work, within 5 seconds. A lost connection is made again, after pauses that grow up to 10 seconds. JOBGRAPH_PREFIX
names another stack than "jobs". User and password, or a token, come from the URL; a server that asks for TLS or NKeys
is refused with a clear word, since that is beyond an example.

Replace the function work by your own.
"""

import collections
import json
import os
import queue
import random
import re
import signal
import socket
import sys
import threading
import time
import urllib.parse

PULL_SECONDS = 5  # how long one request for work stands
WAIT_SECONDS = 10  # how long an answer of the bus may take
IN_HAND_SECONDS = 5  # how often the bus is told that the work is still in hand
MAX_LINE = 1 << 20  # the longest line and the largest payload that are believed
MAX_PAYLOAD = 64 << 20


class InputDataError(Exception):
    """The work cannot be done with what came in; its text is the lesson for those who made it."""


def work(message):
    """Count the words of what there is to read: input "text", else the goal. Returns the output, any JSON."""
    text = message.get("inputs", {}).get("text", message.get("goal", ""))
    if not isinstance(text, str) or not text.strip():
        raise InputDataError('input "text" is empty or no text: give --input text=...')
    words = re.findall(r"\w+", text.lower())
    return {"words": len(words), "most": collections.Counter(words).most_common(10)}


def about(message):
    """Say where the work stands in its job, for the log. The brief also has the request, the plan, lessons and deadline;
    what is long in it is left out and stands in the object that brief_ref names. It is data, never an instruction."""
    place = (message.get("brief") or {}).get("place") or {}
    return f", step {place['n']} of {place['of']}" if place.get("of", 1) > 1 else ""


class Lost(Exception):
    """The connection is gone, or the other side does not speak as it should."""


class Refused(Exception):
    """The server will never let us in; trying again is of no use."""


Message = collections.namedtuple("Message", "subject sid reply status description payload")


class Connection:
    """One connection to a NATS server. One thread of its own reads; any thread may write."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url if "//" in url else "nats://" + url)
        if parts.scheme not in ("nats", "tcp") or not parts.hostname:
            raise Refused(f"NATS_URL is {url!r}: give nats://host:port")
        self.messages = queue.Queue()  # of Message, or of the exception that ended the connection
        self.writing = threading.Lock()  # guards the socket's writing side
        try:
            self.socket = socket.create_connection((parts.hostname, parts.port or 4222), timeout=WAIT_SECONDS)
        except OSError as err:
            raise Lost(f"connect {parts.hostname}:{parts.port or 4222}: {err}") from err
        self.reader = self.socket.makefile("rb")
        try:
            self.shake_hands(parts)
        except BaseException:
            self.close()
            raise
        self.socket.settimeout(None)
        # The thread ends when the socket does; close() waits for it.
        self.thread = threading.Thread(target=self.read_all, daemon=True)
        self.thread.start()

    def shake_hands(self, parts):
        verb, info = self.line()
        if verb != b"INFO":
            raise Lost(f"this is no NATS server: it said {verb[:40]!r}")
        info = json.loads(info)
        if info.get("tls_required"):
            raise Refused("the server asks for TLS, which this example does not speak")
        options = {"verbose": False, "pedantic": False, "lang": "python-std", "version": "1", "name": "worker.py",
                   "protocol": 1, "headers": True, "no_responders": True}
        if parts.username and parts.password is None:
            options["auth_token"] = urllib.parse.unquote(parts.username)
        elif parts.username:
            options["user"] = urllib.parse.unquote(parts.username)
            options["pass"] = urllib.parse.unquote(parts.password)
        self.write(b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n")
        while True:
            verb, rest = self.line()
            if verb == b"PONG":
                return
            if verb == b"-ERR":
                self.complain(rest)

    def line(self):
        """Read one line of the protocol: its verb in capitals, and the rest."""
        try:
            raw = self.reader.readline(MAX_LINE)
        except (OSError, ValueError) as err:
            raise Lost(f"read: {err}") from err
        if not raw.endswith(b"\n"):
            raise Lost("the server closed the connection" if len(raw) < MAX_LINE else "a line without end")
        verb, _, rest = raw.strip().partition(b" ")
        return verb.upper(), rest

    def complain(self, rest):
        text = rest.decode(errors="replace").strip("' ")
        if "authorization" in text.lower() or "authentication" in text.lower():
            raise Refused(f"the server refuses this user ({text}): put user:password@ or token@ into NATS_URL")
        if "permissions violation" in text.lower():
            print(f"worker.py: {text}: ask for this permission", file=sys.stderr)
            return
        raise Lost(f"the server said: {text}")

    def read_all(self):
        try:
            while True:
                verb, rest = self.line()
                if verb == b"PING":
                    self.write(b"PONG\r\n")
                elif verb in (b"MSG", b"HMSG"):
                    self.messages.put(self.message(verb, rest.decode().split()))
                elif verb == b"-ERR":
                    self.complain(rest)
                elif verb not in (b"PONG", b"+OK", b"INFO"):
                    raise Lost(f"the server said {verb[:40]!r}")
        except (Lost, Refused) as err:
            self.messages.put(err)
        except Exception as err:  # whatever a broken stream makes of the parser
            self.messages.put(Lost(f"read: {err!r}"))

    def message(self, verb, fields):
        """Read the body of MSG subject sid [reply] size, or HMSG subject sid [reply] headersize size."""
        numbers = 2 if verb == b"HMSG" else 1
        subject, sid, *reply = fields[:-numbers]
        head, size = (int(fields[-2]) if numbers == 2 else 0), int(fields[-1])
        if not 0 <= head <= size <= MAX_PAYLOAD:
            raise Lost(f"a message of {size} bytes with {head} of headers")
        body = self.reader.read(size + 2)
        if len(body) != size + 2:
            raise Lost("the server closed the connection within a message")
        first = body[:head].split(b"\r\n", 1)[0].decode(errors="replace").split(None, 2)
        status = int(first[1]) if len(first) > 1 and first[1].isdigit() else 0
        description = first[2] if len(first) > 2 else ""
        return Message(subject, sid, reply[0] if reply else "", status, description, body[head:size])

    def write(self, raw):
        with self.writing:
            try:
                self.socket.sendall(raw)
            except OSError as err:
                raise Lost(f"write: {err}") from err

    def subscribe(self, subject, sid):
        self.write(f"SUB {subject} {sid}\r\n".encode())

    def publish(self, subject, payload, reply="", header=None):
        if re.search(r"\s", subject) or not subject:
            raise Lost(f"a subject that cannot be: {subject!r}")
        if header is None:
            self.write(f"PUB {subject} {reply} {len(payload)}\r\n".encode() + payload + b"\r\n")
            return
        lines = "".join(f"{key}: {value}\r\n" for key, value in header.items())
        head = f"NATS/1.0\r\n{lines}\r\n".encode()
        sizes = f"{len(head)} {len(head) + len(payload)}"
        self.write(f"HPUB {subject} {reply} {sizes}\r\n".encode() + head + payload + b"\r\n")

    def receive(self, seconds):
        """Return the next message, or None when there was none in time."""
        try:
            message = self.messages.get(timeout=max(seconds, 0.001))
        except queue.Empty:
            return None
        if isinstance(message, Exception):
            raise message
        return message

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is gone already
        self.socket.close()
        if getattr(self, "thread", None):
            self.thread.join(WAIT_SECONDS)


class Worker:
    """Takes work from one pool until it is told to stop."""

    def __init__(self, url, pool, prefix):
        self.url, self.pool = url, pool
        self.pull = f"$JS.API.CONSUMER.MSG.NEXT.{prefix.upper()}_WORK.pool-{pool}"
        self.stopping = threading.Event()

    def run(self):
        pause = 0.25
        while not self.stopping.is_set():
            try:
                connection = Connection(self.url)
                pause = 0.25
                try:
                    self.serve(connection)
                finally:
                    connection.close()
            except Lost as err:
                print(f"worker.py: {err}; trying again in {pause:.2f} s", file=sys.stderr)
                self.stopping.wait(pause * random.uniform(0.5, 1))
                pause = min(pause * 2, 10)

    def serve(self, connection):
        inbox = f"_INBOX.worker.{os.urandom(8).hex()}"
        connection.subscribe(inbox + ".work.*", 1)
        connection.subscribe(inbox + ".stored.*", 2)
        number = 0
        while not self.stopping.is_set():
            number += 1
            delivery = self.next(connection, f"{inbox}.work.{number}")
            if delivery:
                self.handle(connection, delivery, f"{inbox}.stored.{number}")

    def next(self, connection, reply):
        """Ask for one piece of work; None when there is none for now."""
        request = {"batch": 1, "expires": PULL_SECONDS * 1_000_000_000}
        connection.publish(self.pull, json.dumps(request).encode(), reply)
        until = time.monotonic() + PULL_SECONDS + 1
        while time.monotonic() < until:
            message = connection.receive(until - time.monotonic())
            if message is None or message.status in (404, 408):  # nothing there, or the request has expired
                return None
            if message.status == 409 and "Deleted" not in message.description:
                self.stopping.wait(0.5)
                return None  # too many requests, or the leader has changed: ask again
            if message.status in (409, 503):
                why = message.description or "nobody answers"
                self.stopping.wait(1)
                raise Lost(f"pool {self.pool!r} cannot be asked ({why}): is its consumer made, and does JetStream run?")
            if message.reply.startswith("$JS.ACK."):
                return message
        return None

    def handle(self, connection, delivery, stored):
        try:
            message = json.loads(delivery.payload)
            subject, report_id = message["report_subject"], message["report_id"]
        except (ValueError, TypeError, KeyError) as err:
            print(f"worker.py: {delivery.subject} is no work message ({err!r}); given up", file=sys.stderr)
            connection.publish(delivery.reply, b"+TERM")
            return
        report = self.perform(connection, delivery, message)
        header = {"Nats-Msg-Id": report_id, "Nats-Expected-Last-Subject-Sequence": 0}  # a run has one report
        connection.publish(subject, json.dumps(report).encode(), stored, header)
        self.await_stored(connection, stored)
        connection.publish(delivery.reply, b"+ACK")
        name = f"{message.get('job')}/{message.get('subjob')} run {message.get('run')}"
        print(f"reported {name}{about(message)}: {report['outcome']}", file=sys.stderr)

    def perform(self, connection, delivery, message):
        """Do the work in this thread while another one tells the bus that it is in hand."""
        done = threading.Event()

        def tell():
            while not done.wait(IN_HAND_SECONDS):
                try:
                    connection.publish(delivery.reply, b"+WPI")
                except Lost:
                    return  # the main thread meets the same

        teller = threading.Thread(target=tell)
        teller.start()
        try:
            return {"outcome": "SUCCESS", "output": work(message)}
        except InputDataError as err:
            return {"outcome": "INPUT_DATA_ERROR", "lesson": str(err), "error": str(err)}
        except Exception as err:  # any fault of the work is its report, not the worker's end
            return {"outcome": "EXECUTION_ERROR", "error": f"{type(err).__name__}: {err}"}
        finally:
            done.set()
            teller.join()

    def await_stored(self, connection, reply):
        """Wait until the bus says that the report is stored. Without that the work is not acknowledged: it comes again."""
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            message = connection.receive(until - time.monotonic())
            if message is None or message.subject != reply:
                continue
            answer = json.loads(message.payload) if message.payload else {}
            if answer.get("seq"):
                return
            # Stored before, by a worker that died before it could acknowledge: just as good.
            if answer.get("error", {}).get("err_code") in (10071, 10164):
                return
            raise Lost(f"report was not stored: {answer.get('error', message.status)}")
        raise Lost(f"no word in {WAIT_SECONDS} s that the report is stored")


def main():
    if len(sys.argv) != 2 or not re.fullmatch(r"[A-Za-z0-9_~-]{1,64}", sys.argv[1]):
        print("usage: worker.py POOL", file=sys.stderr)
        return 2
    url = os.environ.get("NATS_URL", "nats://127.0.0.1:4222").split(",")[0]
    worker = Worker(url, sys.argv[1], os.environ.get("JOBGRAPH_PREFIX", "jobs"))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stopping.set())
    try:
        worker.run()
    except Refused as err:
        print(f"worker.py: {err}", file=sys.stderr)
        return 69
    return 0


if __name__ == "__main__":
    sys.exit(main())
