"""Windows of data centres, and which of them is now."""

from odradek.console.centres import CENTRES_MAX, WINDOWS_MAX, Centres
from odradek.console.rows import Activity, CentreUsers, Mean, Trend

MINUTE_MS = 60_000


def activity(minute: int, users: int = 1) -> Activity:
    return Activity(minute * MINUTE_MS, (minute + 5) * MINUTE_MS, 3, 4, users, 10)


def mean(minute: int, *, is_anomaly: bool = False, centre: str = "c") -> Mean:
    return Mean(centre, minute * MINUTE_MS, 1000, None, is_anomaly)


def test_now_is_the_window_that_covers_the_last_event_and_the_most_before_it() -> None:
    centres = Centres()
    for minute in range(1, 12):  # the last event was in minute 11, so the windows from 8 on have only begun
        centres.put_activity(activity(minute))
    assert [window.start_ms // MINUTE_MS for window in centres.activity()] == [1, 2, 3, 4, 5, 6, 7]


def test_a_window_that_has_just_begun_is_better_than_nothing() -> None:
    centres = Centres()
    assert centres.activity() == ()
    centres.put_activity(activity(3))
    assert [window.start_ms // MINUTE_MS for window in centres.activity()] == [3]


def test_a_window_that_comes_again_replaces_what_it_was() -> None:
    centres = Centres()
    for users in (1, 2, 3):
        centres.put_activity(activity(0, users))
    assert [window.users for window in centres.activity()] == [3]


def test_users_of_a_centre_are_those_of_the_same_window() -> None:
    centres = Centres()
    for minute in range(6):
        centres.put_activity(activity(minute))
        centres.put_users(CentreUsers("busy", minute * MINUTE_MS, (minute + 5) * MINUTE_MS, 10 + minute))
    centres.put_users(CentreUsers("quiet", 5 * MINUTE_MS, 10 * MINUTE_MS, 7))
    centres.put_mean(mean(0, centre="silent"))
    assert [(each.name, each.users) for each in centres.centres()] == [("busy", 11), ("quiet", 0), ("silent", None)]


def test_figures_are_of_the_last_whole_minute() -> None:
    centres = Centres()
    for centre, minutes in (("steady", range(4)), ("begun", [3]), ("quiet", range(2))):
        for minute in minutes:
            centres.put_trend(Trend(centre, minute * MINUTE_MS, (minute + 1) * MINUTE_MS, minute, 0, 0.1, 1, 2, 3))
    last = {each.name: each.last and each.last.events for each in centres.centres()}
    assert last == {"begun": None, "quiet": None, "steady": 2}


def test_a_minute_that_is_not_whole_is_better_than_nothing() -> None:
    centres = Centres()
    centres.put_trend(Trend("c", 0, MINUTE_MS, 7, 0, 0.1, 1, 2, 3))
    last = centres.centres()[0].last
    assert last is not None
    assert last.events == 7


def test_old_windows_go() -> None:
    centres = Centres()
    for minute in range(WINDOWS_MAX + 30):
        centres.put_trend(Trend("c", minute * MINUTE_MS, (minute + 1) * MINUTE_MS, 1, 0, 0.1, 1, 2, 3))
        centres.put_mean(mean(minute))
    (centre,) = centres.centres()
    assert [trend.start_ms // MINUTE_MS for trend in centre.trends] == list(range(30, WINDOWS_MAX + 30))
    assert len(centre.means) == WINDOWS_MAX


def test_an_anomaly_is_one_while_it_is_new() -> None:
    centres = Centres()
    for minute, is_anomaly in enumerate([False, True, False]):
        centres.put_mean(mean(minute, is_anomaly=is_anomaly))
    assert centres.centres()[0].is_anomalous
    centres.put_mean(mean(3))
    assert not centres.centres()[0].is_anomalous


def test_the_number_of_centres_is_bounded() -> None:
    centres = Centres()
    for number in range(CENTRES_MAX + 10):
        centres.put_mean(mean(0, centre=f"{number:04}"))
    assert len(centres.centres()) == CENTRES_MAX
