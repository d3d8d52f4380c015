"""What is left of a command that ran to its end."""

import json
from typing import Any, NamedTuple


class Ended(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Of one that printed an object in JSON on each line."""
        return [json.loads(line) for line in self.out.splitlines()]
