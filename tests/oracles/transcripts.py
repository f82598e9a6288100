"""Commands of pages, run as they are written: the small part of a shell that the pages use.

``crfkit`` and ``python`` run in this process, which saves the start of an interpreter per command; everything
else (``head``, ``grep``, ``printf``) is the system's own. There are pipes, redirections, here-documents,
quotes, comments and file patterns, and nothing more: no variables, no ``;``.
"""

import glob
import io
import math
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

from crfkit.cli import main

NUMBER = r"[-+−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Command(NamedTuple):
    """A command of a page; ``shown`` is the output that the page shows, None if it shows none."""

    line: int
    text: str
    shown: str | None


def commands_of(text: str) -> list[Command]:
    """Return the commands of the ``sh`` blocks and of the blocks with ``$`` in front of commands, in order.

    A ``text`` block directly behind an ``sh`` block shows the output of its last command.
    """
    found: list[Command] = []
    end: int | None = None  # of the block before, if that had commands
    for block in BLOCK.finditer(text):
        language, body = block.groups()
        line = text.count("\n", 0, block.start(2)) + 1
        if language == "sh":
            found += [Command(line + offset, command, None) for offset, command in split_commands(body)]
        elif language == "" and body.startswith("$ "):
            found += _transcript(body, line)
        elif language == "text" and end is not None and not text[end : block.start()].strip():
            found[-1] = found[-1]._replace(shown=body)
        end = block.end() if language == "sh" else None
    return found


def split_commands(body: str) -> list[tuple[int, str]]:
    """Return the commands of a block, each with its line.

    Continued lines, open quotes and here-documents belong to one command.
    """
    commands: list[tuple[int, str]] = []
    lines = body.splitlines()
    i = 0
    while i < len(lines):
        start, text = i, lines[i]
        i += 1
        ending = re.search(r"<<'(\w+)'", text)
        if ending:
            stop = lines.index(ending[1], i)
            text, i = "\n".join([text, *lines[i:stop]]), stop + 1
        else:
            while text.endswith("\\") or _open_quote(text):
                joined = text[:-1] if text.endswith("\\") else text + "\n"
                text, i = joined + lines[i], i + 1
        if text.strip() and not text.lstrip().startswith("#"):
            commands.append((start, text))
    return commands


def _open_quote(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return True
    return False


def _transcript(body: str, line: int) -> list[Command]:
    """Return the commands of a block in which ``$`` marks them, each with the lines that follow it."""
    found: list[Command] = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        text, _, shown = part.partition("\n")
        found.append(Command(line, text, shown or None))
        line += part.count("\n")
    return found


def run(command: str, folder: Path) -> str:
    """Run a command with ``folder`` as the working directory; return what a terminal shows of it."""
    first, _, document = command.partition("\n") if "<<'" in command else (command, "", "")
    lexer = shlex.shlex(first, posix=True, punctuation_chars="|<>")
    lexer.whitespace_split = True
    stages: list[list[str]] = [[]]
    data, output = b"", None
    words = iter(lexer)
    for word in words:
        if word == "|":
            stages.append([])
        elif word == ">":
            output = next(words)
        elif word == "<<<":
            data = (next(words) + "\n").encode()
        elif word == "<<":
            next(words)
            data = (document + "\n").encode()
        elif word == "<":
            data = (folder / next(words)).read_bytes()
        else:
            stages[-1] += sorted(glob.glob(word, root_dir=folder)) or [word] if "*" in word else [word]
    shown = b""
    for i, stage in enumerate(stages):
        piped = output is not None or i < len(stages) - 1
        data, messages = _run_one(stage, data, folder, piped)
        shown += messages
    if output is None:
        return (shown + data).decode()
    if output != "/dev/null":
        (folder / output).write_bytes(data)
    return shown.decode()


def _run_one(words: list[str], data: bytes, folder: Path, piped: bool) -> tuple[bytes, bytes]:
    """Return standard output and standard error; both in the second, in their order, if nothing is piped."""
    if words[0] not in ("crfkit", "python"):
        done = subprocess.run(words, input=data, cwd=folder, capture_output=True, check=True, timeout=60)
        return done.stdout, done.stderr
    out, err = io.BytesIO(), io.BytesIO()
    kept = sys.stdin, sys.stdout, sys.stderr, os.getcwd()
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))  # type: ignore[arg-type]
    sys.stdout = io.TextIOWrapper(out if piped else err, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", write_through=True)
    streams = sys.stdout, sys.stderr
    os.chdir(folder)
    try:
        code = _python(words, data) if words[0] == "python" else main(words[1:])
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept[:3]
        os.chdir(kept[3])
        for stream in streams:
            stream.flush()
            stream.detach()
    assert code == 0, f"{shlex.join(words)}\n{err.getvalue().decode()}"
    return out.getvalue(), err.getvalue()


def _python(words: list[str], data: bytes) -> int:
    """Run a program that is given by standard input (``python -``)."""
    assert words == ["python", "-"], words
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(data, "-", "exec"), {"__name__": "__main__"})
    return 0


def matches(expected: str, found: str, any_text: str = "…", free: str | None = None) -> bool:
    """Compare texts line by line; ``any_text`` stands for anything, also for several lines.

    Blanks at the ends of lines do not count. ``free`` is a regular expression: what it matches there
    stands for anything else that it matches, and the number of blanks between words does not count.
    """
    text, pattern, at = _stripped(expected), "", 0
    variable = re.escape(any_text) if free is None else f"{free}|{re.escape(any_text)}"
    for part in re.finditer(variable, text):
        pattern += _fixed(text[at : part.start()], free)
        pattern += ".*" if part[0] == any_text else f"(?:{free})"
        at = part.end()
    pattern += _fixed(text[at:], free)
    return re.fullmatch(pattern, _stripped(found), re.DOTALL) is not None


def figures_agree(expected: str, found: str) -> bool:
    """Compare the figures of two texts: 10 %, or one count, or 0.02 are between machines, not more."""
    pairs = zip(re.findall(NUMBER, expected), re.findall(NUMBER, found), strict=True)
    return all(
        math.isclose(_value(a), _value(b), rel_tol=0.1, abs_tol=0.02 if "." in a else 1) for a, b in pairs
    )


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _fixed(text: str, free: str | None) -> str:
    """Return the pattern of words that must be there."""
    pattern = re.escape(text)
    return pattern if free is None else re.sub(r"(?:\\[ \t])+", r"[ \\t]+", pattern)
