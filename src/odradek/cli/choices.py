"""Options that take some of a few names."""

import argparse
from collections.abc import Callable, Sequence


def one_of(names: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """For argparse: some of these names, in any case, with commas between."""
    known = {name.lower(): name for name in names}

    def parse(text: str) -> tuple[str, ...]:
        for word in text.split(","):
            if word.strip().lower() not in known:
                raise argparse.ArgumentTypeError(f"{word!r} must be one of {', '.join(names)}")
        return tuple(dict.fromkeys(known[word.strip().lower()] for word in text.split(",")))

    return parse
