"""The verbs of a noun, each with the options that all of them have."""

import argparse
from collections.abc import Callable

from odradek.cli import reaching

Handler = Callable[[argparse.Namespace], int]


class Verbs:
    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)

    def add(self, name: str, handler: Handler, text: str) -> argparse.ArgumentParser:
        added = self._verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        added.add_argument("--json", action="store_true", help="print JSON, one object a line")
        reaching.add_arguments(added)
        added.set_defaults(handler=handler)
        return added
