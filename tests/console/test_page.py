"""The page, as somebody sees it who looks at a live cluster."""

import os
from pathlib import Path

import pytest

from odradek.testing import RunningBroker
from support.browser import Tab
from support.result_stage import ResultStage

pytestmark = pytest.mark.slow

_SHOTS = os.environ.get("ODRADEK_SCREENSHOTS")
"""A directory for pictures of the page; that of the README is one of them."""
_PLACES = "[...document.querySelectorAll('.truck')].map(truck => truck.style.transform).join()"
_GROUND = "getComputedStyle(document.body).backgroundColor"
_LIGHT, _DARK = "rgb(243, 245, 247)", "rgb(14, 19, 25)"


def shoot(page: Tab, name: str) -> None:
    if _SHOTS:
        Path(_SHOTS, name).write_bytes(page.screenshot())


def test_figures_move_and_alerts_appear(page: Tab, stage: ResultStage) -> None:
    before = {part: page.text(part) for part in (".time", ".figures", ".jobs", ".letters", ".centres")}
    places = page.evaluate(_PLACES)
    minutes, driver = stage.next_alert()
    stage.advance(max(minutes, 2.0))
    page.wait_for(f"document.querySelector('.alerts tbody tr td').innerText === '{driver}'")
    for part, text in before.items():
        page.wait_for(f"document.querySelector('{part}').innerText !== {text!r}")
    assert page.evaluate(_PLACES) != places


def test_everything_has_something_to_show(page: Tab, stage: ResultStage) -> None:
    jobs = page.text(".jobs")
    stage.advance(1 / 3)
    page.wait_for(f"document.querySelector('.jobs').innerText !== {jobs!r}")
    assert page.evaluate("document.querySelectorAll('.trail[points]').length") == 100
    assert page.evaluate("document.querySelectorAll('.centres tbody tr').length") == 8
    assert page.evaluate("document.querySelectorAll('.jobs tbody tr').length") == 8
    assert page.evaluate("document.querySelectorAll('.reason-line').length") > 3
    page.wait_for("document.querySelectorAll('.chart svg path').length > 20")
    for scheme, ground in (("dark", _DARK), ("light", _LIGHT)):
        page.prefer(scheme)
        page.wait_for(f"{_GROUND} === '{ground}'")
        shoot(page, f"console-{scheme}.png")


def test_every_picture_of_100_trucks_is_drawn(page: Tab, stage: ResultStage) -> None:
    page.evaluate("(() => { let n = 0; const f = () => { window.frames_ = ++n; requestAnimationFrame(f); }; f(); })()")
    for _ in range(5):
        places, frames = page.evaluate(_PLACES), page.evaluate("window.frames_")
        drawn = page.evaluate("+document.querySelector('.map').dataset.drawn")
        stage.advance(1 / 3)  # in which every truck tells once where it is
        page.wait_for(f"{_PLACES} !== {places!r} && +document.querySelector('.map').dataset.drawn > {drawn}")
        page.wait_for(f"window.frames_ > {frames + 5}")  # it is drawn, and the page goes on
    assert page.evaluate("document.querySelectorAll('.truck').length") == 100


def test_it_follows_the_system_until_it_is_told_otherwise(page: Tab) -> None:
    for scheme, ground in (("dark", _DARK), ("light", _LIGHT), ("dark", _DARK)):
        page.prefer(scheme)
        page.wait_for(f"{_GROUND} === '{ground}'")
    press(page, "[...document.querySelectorAll('.modes button')].find(each => each.innerText === 'Light')")
    page.wait_for(f"{_GROUND} === '{_LIGHT}'")
    page.prefer("light")
    press(page, "[...document.querySelectorAll('.modes button')].find(each => each.innerText === 'Dark')")
    page.wait_for(f"{_GROUND} === '{_DARK}'")


def test_a_data_centre_can_be_chosen(page: Tab) -> None:
    assert page.text(".latency .note b") == "dc-00"
    press(page, "document.querySelector('.centres tr[data-centre=dc-05]')")
    page.wait_for("document.querySelector('.latency .note b').innerText === 'dc-05'")
    assert page.text(".centres tr.selected button") == "dc-05"


def test_a_truck_says_who_it_is(page: Tab) -> None:
    x, y = middle(page, "[...document.querySelectorAll('.truck')].at(-1)")  # nothing lies above it
    page.hover(x, y)
    page.wait_for("document.querySelector('.map .card')")
    name = page.evaluate("[...document.querySelectorAll('.truck')].at(-1).dataset.truck")
    shown = page.text(".map .card").splitlines()
    assert shown[:2] == [name, name.replace("truck", "driver")]
    assert shown[2].startswith("standing") or "km/h" in shown[2]


def test_a_chart_says_its_figures(page: Tab) -> None:
    page.wait_for("document.querySelectorAll('.latency svg path').length > 10")
    x, y = middle(page, "document.querySelector('.latency .chart')")
    page.hover(x, y - 100)  # in the upper one of the two
    page.wait_for("document.querySelector('.latency .tip')?.innerText.includes('p99')")
    told = page.text(".latency .tip").split()
    assert {"p50", "p95", "p99", "mean"} <= set(told)
    assert {"ms", "s"} & set(told)


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720), (1920, 1080)])
def test_nothing_has_to_be_scrolled_on_a_laptop(page: Tab, width: int, height: int) -> None:
    page.resize(width, height)
    page.wait_for(f"innerWidth === {width}")
    size = page.evaluate("[document.scrollingElement.scrollWidth, document.scrollingElement.scrollHeight]")
    assert size == [width, height]
    cut = "[...document.querySelectorAll('.scroll')].filter(each => each.scrollWidth > each.clientWidth).length"
    assert page.evaluate(cut) == 0
    shoot(page, f"console-{width}x{height}.png")


def test_a_broker_that_goes_away_is_told_of_and_comes_back(
    page: Tab, stage: ResultStage, broker: RunningBroker
) -> None:
    broker.stop()
    page.wait_for("document.querySelector('.link.away')?.innerText.includes('does not answer since')")
    assert page.evaluate("document.querySelectorAll('.truck').length") == 100  # what is known stays
    broker.start()
    page.wait_for("document.querySelector('.link.there')")
    places = page.evaluate(_PLACES)
    stage.advance(1)
    page.wait_for(f"{_PLACES} !== {places!r}")


def middle(page: Tab, element: str) -> tuple[float, float]:
    box = page.evaluate(
        f"(() => {{ const b = {element}.getBoundingClientRect(); return [b.x, b.y, b.width, b.height] }})()"
    )
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def press(page: Tab, element: str) -> None:
    page.press(*middle(page, element))
