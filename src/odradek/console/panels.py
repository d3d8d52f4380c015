"""What the page says in words and figures: HTML made of a picture. All that comes from a topic is escaped."""

from collections.abc import Iterable, Sequence
from html import escape

from odradek.console.centres import Centre
from odradek.console.fleet import MOVING_KMH, Overtime
from odradek.console.picture import Picture
from odradek.console.rows import Activity, Progress
from odradek.console.wording import (
    clock_text,
    count_text,
    latency_text,
    minute_text,
    moment_text,
    rate_text,
    span_text,
)

_ALERTS_SHOWN = 40
_REASONS_SHOWN = 11
_NONE = "-"
_STATES = ("running", "restarting", "ended", "failed")


def link(picture: Picture) -> str:
    """How it stands with the cluster, and what time it is in the events."""
    where = escape(picture.link.bootstrap)
    event_time = moment_text(picture.event_ms) + " UTC" if picture.event_ms is not None else _NONE
    return (
        f'<span class="link {_link_state(picture)}" role="status"><i></i>{where} {_link_text(picture)}</span>'
        f'<span class="time">event time <b>{event_time}</b></span>'
    )


def _link_state(picture: Picture) -> str:
    if picture.link.away_since_ms is not None:
        return "away"
    return "waiting" if picture.link.missing or not picture.link.loaded else "there"


def _link_text(picture: Picture) -> str:
    told = picture.link
    if told.away_since_ms is not None:
        return f"does not answer since {clock_text(told.away_since_ms)} UTC; trying again"
    if told.missing:
        return f"waiting for {escape(', '.join(told.missing))}"
    return "" if told.loaded else "reading what is there"


def fleet(picture: Picture) -> str:
    """How many trucks do what, which is the map's legend as well."""
    overtime = sum(truck.is_overtime for truck in picture.trucks)
    moving = sum(truck.at.speed_kmh >= MOVING_KMH and not truck.is_overtime for truck in picture.trucks)
    standing = len(picture.trucks) - moving - overtime
    counts = (
        ("moving", moving, "driving"),
        ("standing", standing, "standing"),
        ("overtime", overtime, "over the limit"),
    )
    return "".join(f'<span class="key {state}"><i></i><b>{count}</b> {text}</span>' for state, count, text in counts)


def figures(activity: Sequence[Activity]) -> str:
    texts = [_NONE] * 4
    if activity:
        now = activity[-1]
        texts = [count_text(count) for count in (now.centres, now.tenants, now.users, now.events)]
    named = zip(("data centres", "tenants", "users", "operations"), texts, strict=True)
    return "".join(f'<div class="figure"><b>{text}</b><span>{name}</span></div>' for name, text in named)


def window_text(activity: Sequence[Activity]) -> str:
    """Which window the figures are of."""
    if not activity:
        return "waiting for the first window"
    now = activity[-1]
    return f"{minute_text(now.start_ms)} to {minute_text(now.end_ms)}"


def alerts(overtimes: Sequence[Overtime]) -> str:
    if not overtimes:
        return _empty("no alert yet")
    rows = (
        _row(
            [escape(each.alert.driver), escape(each.alert.truck)],
            [minute_text(each.alert.since_ms), minute_text(each.alert.exceeded_ms), _over(each)],
            "overtime" if each.goes_on else "over",
        )
        for each in overtimes[:_ALERTS_SHOWN]
    )
    return _table(("driver", "truck"), ("since", "limit at", "over by"), rows)


def _over(overtime: Overtime) -> str:
    return f"{span_text(overtime.over_ms)} h" if overtime.over_ms or not overtime.goes_on else "now"


def centres(listed: Sequence[Centre], selected: str | None) -> str:
    if not listed:
        return _empty("no result yet")
    rows = (_centre_row(each, is_selected=each.name == selected) for each in listed)
    return _table(("centre",), ("users", "ops/s", "errors", "p50", "p95", "p99"), rows)


def _centre_row(centre: Centre, *, is_selected: bool) -> str:
    name = escape(centre.name)
    mark = '<span class="mark" title="an anomaly">▲</span>' if centre.is_anomalous else ""
    users = _NONE if centre.users is None else count_text(centre.users)
    last, figures = centre.last, [_NONE] * 5
    if last is not None:
        quantiles = [latency_text(us) for us in (last.p50_us, last.p95_us, last.p99_us)]
        share = last.errors / last.events if last.events else 0.0
        figures = [rate_text(last.per_second), f"{share:.1%}", *quantiles]
    pressed = "true" if is_selected else "false"
    button = f'<button data-centre="{name}" aria-pressed="{pressed}">{name}</button>{mark}'
    states = ("selected" if is_selected else "", "anomalous" if centre.is_anomalous else "")
    return _row([button], [users, *figures], " ".join(filter(None, states)), f' data-centre="{name}"')


def minute_told(listed: Sequence[Centre]) -> str:
    """Which minute the figures of data centres are of."""
    last = next((each.last for each in listed if each.last is not None), None)
    return "" if last is None else f"{minute_text(last.start_ms)} to {minute_text(last.end_ms)}"


def latency_title(centre: Centre | None) -> str:
    """Which data centre it is, and what the lines are."""
    if centre is None:
        return "waiting for the first window"
    keys = "".join(f'<span class="line {name}"><i></i>{name}</span>' for name in ("p50", "p95", "p99"))
    below = '<span class="line mean"><i></i>mean</span><span class="line band"><i></i>band</span>'
    return f'<b>{escape(centre.name)}</b>{keys}{below}<span class="line anomaly"><i>▲</i>anomaly</span>'


def jobs(listed: Sequence[Progress]) -> str:
    if not listed:
        return _empty("no job has told of itself yet")
    return _table(("job",), ("rows/s", "lag", "last batch", "took"), map(_job_row, listed))


def _job_row(job: Progress) -> str:
    """One that does not run says why in place of its figures: these are of a batch that is long past."""
    state = job.state if job.state in _STATES else "unknown"
    said = escape(job.state if job.reason is None else f"{job.state}: {job.reason}")
    name = f'<span class="job {state}" title="{said}"><i></i>{escape(job.job)}</span>'
    if state != "running":
        return f'<tr class="{state}"><td>{name}</td><td class="reason" colspan="4" title="{said}">{said}</td></tr>'
    figures = [
        _NONE if job.rows_per_second is None else rate_text(job.rows_per_second),
        _NONE if job.lag is None else count_text(job.lag),
        _NONE if job.rows is None else f"{count_text(job.rows)} rows",
        _NONE if job.batch_ms is None else f"{job.batch_ms / 1000:.1f} s",
    ]
    return _row([name], figures, state)


def letters(counted: Sequence[tuple[str, int]]) -> str:
    if not counted:
        return _empty("none yet")
    most = counted[0][1]
    shown, rest = counted[:_REASONS_SHOWN], counted[_REASONS_SHOWN:]
    lines = [
        f'<div class="reason-line"><span>{escape(reason)}</span>'
        f'<span class="bar"><i style="width:{100 * count / most:.1f}%"></i></span><b>{count:,}</b></div>'
        for reason, count in shown
    ]
    if rest:
        lines.append(
            f'<div class="reason-line rest"><span>{len(rest)} more reasons</span><span></span>'
            f"<b>{sum(count for _, count in rest):,}</b></div>"
        )
    return "".join(lines)


def total_text(counted: Sequence[tuple[str, int]]) -> str:
    return f"{sum(count for _, count in counted):,} events"


def _table(texts: Sequence[str], figures: Sequence[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{name}</th>" for name in texts) + "".join(f'<th class="n">{name}</th>' for name in figures)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _row(texts: Iterable[str], figures: Iterable[str], state: str = "", more: str = "") -> str:
    cells = "".join(f"<td>{text}</td>" for text in texts) + "".join(f'<td class="n">{text}</td>' for text in figures)
    return f'<tr class="{state}"{more}>{cells}</tr>'


def _empty(text: str) -> str:
    return f'<p class="empty">{text}</p>'
