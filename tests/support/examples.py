"""How long property tests search: ODRADEK_EXAMPLES=20 ./run test tests/property makes them try twenty times as much."""

import os


def examples(number: int) -> int:
    """`number` in an ordinary run."""
    return max(1, round(number * float(os.environ.get("ODRADEK_EXAMPLES", "1"))))
