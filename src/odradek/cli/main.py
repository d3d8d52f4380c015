"""The `odradek` command: `odradek NOUN VERB ...`.

A noun is a module of this package. It exposes `add_arguments(parser)`, which adds its verbs and sets `handler`, a
callable from the parsed arguments to the exit status. Only the module of the noun that was asked for is imported, so
that help and short commands start fast.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence

from odradek import __version__
from odradek.model.errors import OdradekError

NOUNS = {
    "serve": "run a broker",
    "demo": "run a broker, live events, Spark jobs and a page of results",
    "cluster": "describe a cluster, elect leaders, move replicas",
    "topics": "list, describe, create, alter and delete topics",
    "configs": "show and change settings of topics, brokers and groups",
    "quotas": "show and change quotas of users, client ids and addresses",
    "groups": "list, describe, reset and delete consumer groups",
    "transactions": "list, describe and abort transactions",
    "produce": "send records to a topic",
    "consume": "print the records of a topic",
    "records": "count and delete records, and find the offsets of a time",
    "pipeline": "list and run the jobs on Spark",
    "console": "show live results in a browser",
    "log": "check and print the files of a data directory, and show sizes",
}

EXIT_FAILED = 1
EXIT_MISUSED = 2
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it


class Misused(OdradekError):
    """The command was called in a way that cannot work, which argparse could not tell."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. Usage errors exit with status 2, as argparse does.

    What a handler raises on purpose is printed as one line: it need not care.
    """
    arguments = sys.argv[1:] if argv is None else argv
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough. What is still buffered must not raise again at interpreter exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except OdradekError as error:
        print(f"odradek: {error}", file=sys.stderr)
        return EXIT_MISUSED if isinstance(error, Misused) else EXIT_FAILED
    except OSError as error:
        if error.filename is None:
            raise
        print(f"odradek: {error.filename}: {error.strerror}", file=sys.stderr)
        return EXIT_FAILED


def _run(arguments: Sequence[str]) -> int:
    try:
        parsed = _parser(arguments).parse_args(arguments)
        handler: Callable[[argparse.Namespace], int] = parsed.handler
        return handler(parsed)
    finally:
        sys.stdout.flush()  # a reader that went away shows here, not while the interpreter shuts down


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="odradek", description="A Kafka-compatible event broker in pure Python.")
    parser.add_argument("--version", action="version", version=f"odradek {__version__}")
    nouns = parser.add_subparsers(title="nouns", metavar="NOUN", required=True)
    # No option before the noun takes a value, so the first word that is no option is the noun.
    asked = next((word for word in arguments if not word.startswith("-")), None)
    for noun, text in NOUNS.items():
        noun_parser = nouns.add_parser(noun, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if noun == asked:
            importlib.import_module(f"odradek.cli.{noun}").add_arguments(noun_parser)
    return parser
