"""What tests of the command line share."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def golden_control_records() -> list[dict[str, Any]]:
    path = Path(__file__).parents[2] / "golden" / "control-records.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
