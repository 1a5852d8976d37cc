"""How a command ends: with an exit code and, where something goes wrong, one line on stderr.

Must never show a traceback, and never say 1, which means that a check failed, for anything else.
"""

import codecs
import io
import os
import signal
import sys
from collections.abc import Callable

import click

from autograder.report.words import printable
from autograder.submission import BadInput

UNUSABLE = 2
INTERRUPTED = 128 + signal.SIGINT
# What stands for characters that a terminal cannot show; any other becomes a question mark.
PLAIN = {"✓": "+", "✗": "x", "–": "-", "“": '"', "”": '"', "→": "->", "×": "x"}


def run(command: Callable[[], None]) -> int:
    """Runs a command and returns the exit code. Its output is complete then, or is said not to be."""
    _take_any_character()
    try:
        code = _code_of(command)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # once is enough
        _drop_output()
        _say("autograder: interrupted")
        # Not by way of threads that may still wait for a run: a second Ctrl-C leaves some.
        os._exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody is helped by a traceback
        _drop_output()
        if isinstance(error, click.ClickException):
            _say(_usage(error))
        elif not isinstance(error, BrokenPipeError):  # nobody reads then
            _say(f"autograder: {_line(error)}")
    return UNUSABLE


def _code_of(command: Callable[[], None]) -> int:
    try:
        command()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich ends with 1 then
            raise end.__context__ from None
        return end.code
    except click.exceptions.Exit as end:
        return end.exit_code
    return 0


def _line(error: Exception) -> str:
    """What went wrong, in one line."""
    from autograder.sandbox import WorkerError

    if isinstance(error, (BadInput, WorkerError)):
        text = str(error)
    elif not isinstance(error, OSError) or not error.strerror:
        text = (
            f"failed by a mistake of its own ({type(error).__name__}: {error}); please report this"
        )
    elif error.filename is not None:
        text = f"{os.fsdecode(error.filename)}: cannot be used ({error.strerror})"
    else:  # most likely the output, on a full disk
        text = f"cannot go on ({error.strerror})"
    return " ".join(text.splitlines())  # names of files may hold line ends


def _usage(error: click.ClickException) -> str:
    text = io.StringIO()
    error.show(text)
    return text.getvalue().rstrip("\n")


def _say(text: str) -> None:
    try:
        click.echo(printable(text), err=True)
    except OSError:
        _drop_output()  # the exit code says it


def _take_any_character() -> None:
    """Lets a stream that cannot show a character show another, rather than fail."""
    codecs.register_error("autograder", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="autograder")


def _plain(error: UnicodeError) -> tuple[str, int]:
    text = error.object[error.start : error.end]
    return "".join(PLAIN.get(c, "?") for c in text), error.end


def _drop_output() -> None:
    """Drops what cannot be written: Python would try again at its end, and exit with its own code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
