"""What the checks of the repository itself share."""

from pathlib import Path

import pytest


@pytest.fixture
def root() -> Path:
    """The top of the checkout."""
    return Path(__file__).parents[2]
