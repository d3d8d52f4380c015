"""What the page says."""

import pytest

from odradek.console import panels, wording
from odradek.console.centres import Centre
from odradek.console.charts import activity_chart, latency_chart
from odradek.console.fleet import Overtime
from odradek.console.picture import Link, Picture
from odradek.console.rows import Activity, Alert, Mean, Progress, Trend

START_MS = 1_772_352_000_000  # 2026-03-01, 08:00
MINUTE_MS = 60_000


@pytest.mark.parametrize(
    ("link", "state", "text"),
    [
        (Link("here:9092", loaded=True), "there", "here:9092 "),
        (Link("here:9092"), "waiting", "reading what is there"),
        (Link("here:9092", missing=("driver_alerts",), loaded=True), "waiting", "waiting for driver_alerts"),
        (Link("here:9092", START_MS, loaded=True), "away", "does not answer since 08:00:00 UTC; trying again"),
    ],
)
def test_it_says_how_it_stands_with_the_cluster(link: Link, state: str, text: str) -> None:
    html = panels.link(Picture(link, event_ms=START_MS))
    assert f'class="link {state}"' in html
    assert text in html
    assert "2026-03-01 08:00:00 UTC" in html


def test_what_comes_from_a_topic_is_escaped() -> None:
    evil = "<img src=x onerror=alert(1)>\"'"
    alert = Overtime(Alert(evil, evil, START_MS, START_MS), START_MS, goes_on=True)
    job = Progress(evil, evil, START_MS, 1, 1, 1.0, 1, 1, evil)
    html = "".join(
        [
            panels.alerts([alert]),
            panels.jobs([job]),
            panels.letters([(evil, 3)]),
            panels.centres([Centre(evil, 1, None, (), ())], evil),
            panels.latency_title(Centre(evil, 1, None, (), ())),
            panels.link(Picture(Link(evil, missing=(evil,)))),
        ]
    )
    assert "<img" not in html
    assert html.count("&lt;img src=x onerror=alert(1)&gt;&quot;&#x27;") >= 10


def test_an_alert_says_who_and_how_long() -> None:
    alert = Alert("driver-7", "truck-7", START_MS, START_MS + 270 * MINUTE_MS)
    html = panels.alerts([Overtime(alert, START_MS + 335 * MINUTE_MS, goes_on=True)])
    for text in ("driver-7", "truck-7", "08:00", "12:30", "1:05 h"):
        assert f">{text}<" in html


def test_a_job_that_does_not_run_says_why() -> None:
    jobs = [
        Progress("a", "running", START_MS, 4, 12_345, 830.4, 1_240, 0, None),
        Progress("b", "failed", START_MS, None, None, None, None, None, "no checkpoint"),
    ]
    html = panels.jobs(jobs)
    for text in ("830", "12.3k rows", "1.2 s"):
        assert f">{text}<" in html
    assert "failed: no checkpoint" in html


def test_figures_are_of_the_window_that_is_now() -> None:
    windows = [
        Activity(START_MS + at * MINUTE_MS, START_MS + (at + 5) * MINUTE_MS, 8, 20, 100 + at, 5) for at in (0, 1)
    ]
    assert "<b>101</b><span>users</span>" in panels.figures(windows)
    assert panels.window_text(windows) == "08:01 to 08:06"
    assert "<b>-</b><span>users</span>" in panels.figures([])


def test_dead_letters_are_counted_by_reason_and_the_rest_in_a_line() -> None:
    html = panels.letters([(f"reason-{number}", 1000 - number) for number in range(14)])
    assert "<b>1,000</b>" in html
    assert "3 more reasons" in html
    assert f"<b>{989 + 988 + 987:,}</b>" in html


def test_charts_have_the_windows_and_the_anomalies() -> None:
    trends = tuple(Trend("c", START_MS + at * MINUTE_MS, START_MS, 9, 0, 1.5, 1_000, 2_000, 0) for at in range(3))
    means = (
        Mean("c", START_MS, 1_500, None, is_anomaly=False),
        Mean("c", START_MS + MINUTE_MS, 9_000, (1_000, 2_000), is_anomaly=True),
    )
    options = latency_chart(Centre("c", 4, trends[1], trends, means))
    series = {each["name"]: each for each in options["series"]}
    assert [value for _, value in series["p50"]["data"]] == [1.0, 1.0, 1.0]
    assert [value for _, value in series["p99"]["data"]] == [0.001] * 3  # a logarithmic axis has no zero
    assert series["low"]["data"] == [[START_MS + MINUTE_MS, 1.0]]
    assert series["band"]["data"] == [[START_MS + MINUTE_MS, 1.0]]
    assert series["anomaly"]["data"] == [[START_MS + MINUTE_MS, 9.0]]
    assert len(series["p50"]["markArea"]["data"]) == 1
    users = activity_chart([Activity(START_MS, START_MS + MINUTE_MS, 2, 3, 40, 5)])["series"][0]
    assert users["data"] == [[START_MS + MINUTE_MS, 40]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (wording.count_text(9_999), "9,999"),
        (wording.count_text(12_345), "12.3k"),
        (wording.count_text(123_456), "123k"),
        (wording.count_text(4_500_000), "4.5M"),
        (wording.count_text(7_000_000_000), "7.0G"),
        (wording.rate_text(7.25), "7.2"),
        (wording.rate_text(5_321.4), "5,321"),
        (wording.latency_text(8_400), "8.4 ms"),
        (wording.latency_text(312_400), "312 ms"),
        (wording.latency_text(1_250_000), "1.25 s"),
        (wording.span_text(65 * MINUTE_MS), "1:05"),
    ],
)
def test_numbers_are_short(text: str, expected: str) -> None:
    assert text == expected
