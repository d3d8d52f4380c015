"""A page in a real browser, on a broker whose results come minute by minute."""

from collections.abc import Callable, Iterator

import pytest

from odradek.testing import RunningBroker, running_broker
from support.browser import Tab, find_browser, running_browser, tab
from support.result_stage import ResultStage
from support.running_console import running_console

OpenTab = Callable[[], Tab]

_MINUTES = 125
_BEGUN = 75.0


@pytest.fixture(scope="module")
def browser() -> Iterator[str]:
    path = find_browser()
    if path is None:
        pytest.skip("there is no chromium on this machine to look at the page with: apt-get install chromium")
    with running_browser(path) as protocol:
        yield protocol


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with running_broker() as running:
        yield running


@pytest.fixture(scope="module")
def stage(browser: str, broker: RunningBroker) -> ResultStage:
    """More than an hour has passed on it."""
    stage = ResultStage(broker, _MINUTES)
    stage.create_topics()
    stage.advance(_BEGUN)
    return stage


@pytest.fixture(scope="module")
def url(stage: ResultStage, broker: RunningBroker) -> Iterator[str]:
    with running_console(broker.bootstrap) as address:
        yield address


@pytest.fixture
def page(browser: str, url: str) -> Iterator[Tab]:
    """Shown with all 100 trucks. In the end nothing was complained of, and nobody but the console was asked."""
    with tab(browser) as opened:
        opened.open(url)
        opened.wait_for("document.querySelectorAll('.truck').length === 100")
        opened.wait_for("document.querySelector('.link.there')")
        yield opened
        assert opened.complaints == []
        place = url.removeprefix("http:")
        strangers = [each for each in opened.requests if not each.startswith((f"http:{place}", f"ws:{place}", "data:"))]
        assert strangers == []
        assert len(opened.requests) > 5
