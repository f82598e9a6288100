"""``crfkit annotate`` in a process of its own, and requests as its page sends them."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager


@contextmanager
def annotating(*arguments):
    """Run the command without a browser; yield the process and its address. It is killed at the end."""
    command = [sys.executable, "-m", "crfkit", "annotate", *map(str, arguments), "--no-browser"]
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            address = process.stdout.readline().strip()
            if not address:
                raise AssertionError(process.stderr.read())
            yield process, address
        finally:
            process.kill()


def interrupted(process):
    """Press Ctrl-C; return the exit code and standard error."""
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    return process.returncode, errors


def ask(address, path, content=None):
    """Send a request as the page does; return the JSON of the answer."""
    origin = "/".join(address.split("/")[:3])
    headers = {"Origin": origin, "Content-Type": "application/json"}
    body = None if content is None else json.dumps(content).encode()
    with urllib.request.urlopen(urllib.request.Request(address + path, body, headers), timeout=30) as found:
        return json.load(found)
