"""What tests with a broker of their own, or with the one that they share, have in common."""

from collections.abc import Callable

import pytest

from odradek.cli.main import main
from odradek.testing import RunningBroker
from support.ended import Ended


@pytest.fixture
def odradek(
    odradek_shared_broker: RunningBroker, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """The command, in this process, on the shared broker. Files with other input or another broker have their own."""
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", odradek_shared_broker.bootstrap)

    def run(*arguments: str) -> Ended:
        status = main(arguments)
        return Ended(status, *capfd.readouterr())

    return run
