"""Signals are noted, and do not interrupt."""

import os
import signal

import pytest

from odradek.demo.signals import Stopped, noted_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_told_when_it_is_asked_for(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with noted_signals() as stop:
        stop.check()
        os.kill(os.getpid(), number)
        with pytest.raises(Stopped, match=number.name):
            stop.check()
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Stopped, match=number.name):
            stop.check()
    assert signal.getsignal(number) == before
