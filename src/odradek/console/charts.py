"""Charts, as options of ECharts. Colours are variables of the style sheet, so that light and dark need no new chart."""

from collections.abc import Mapping, Sequence
from typing import Any

from odradek.console.centres import Centre
from odradek.console.rows import Activity, Mean, Trend

Options = dict[str, Any]

_QUANTILES = (("p50_us", "p50", "var(--p50)"), ("p95_us", "p95", "var(--p95)"), ("p99_us", "p99", "var(--p99)"))
_FONT = "Roboto, system-ui, sans-serif"
_LABEL = {"color": "var(--soft)", "fontSize": 10, "fontFamily": _FONT}
_TIME_LABEL = "(ms) => new Date(ms).toISOString().slice(11, 16)"
_MS_LABEL = "(ms) => ms >= 1000 ? ms / 1000 + ' s' : ms + ' ms'"
_TOLD = {
    ":valueFormatter": "(ms) => ms == null ? '-' : ms >= 1000 ? (ms / 1000).toFixed(2) + ' s' : ms.toFixed(1) + ' ms'"
}
"""A latency, where the pointer is."""
_MEAN_TOP = 57
"""In percent: where the lower chart begins."""


def activity_chart(activity: Sequence[Activity]) -> Options:
    users = [[each.end_ms, each.users] for each in activity]
    centres = [[each.end_ms, each.centres] for each in activity]
    return {
        **_common(),
        "grid": {"left": 36, "right": 30, "top": 22, "bottom": 20},
        "xAxis": _time_axis(0, labels=True),
        "yAxis": [
            _value_axis(0, "users"),
            {**_value_axis(0, "data centres"), "splitLine": {"show": False}, "minInterval": 1, "min": 0},
        ],
        "series": [
            _line("users", users, "var(--p95)", areaStyle={"color": "var(--p95)", "opacity": 0.08}),
            _line("data centres", centres, "var(--soft)", yAxisIndex=1, step="end"),
        ],
    }


def latency_chart(centre: Centre | None) -> Options:
    """Above the quantiles, below the mean in its band; anomalies are marked in both."""
    return {
        **_common(),
        "grid": [
            {"left": 48, "right": 12, "top": 8, "height": "47%"},
            {"left": 48, "right": 12, "top": f"{_MEAN_TOP}%", "bottom": 20},
        ],
        "axisPointer": {"link": [{"xAxisIndex": "all"}]},
        "xAxis": [_time_axis(0, labels=False) | _span(centre), _time_axis(1, labels=True) | _span(centre)],
        "yAxis": [
            {
                **_value_axis(0, ""),
                "type": "log",
                "axisLabel": {**_LABEL, ":formatter": _MS_LABEL, "showMinLabel": False, "showMaxLabel": False},
                **_extent(centre),
            },
            {**_value_axis(1, ""), "axisLabel": {**_LABEL, ":formatter": _MS_LABEL}, "splitNumber": 3},
        ],
        "series": [*_quantiles(centre), *_means(centre)],
    }


def _span(centre: Centre | None) -> Options:
    """The same for both charts, though one job may be ahead of the other."""
    rows: list[Trend | Mean] = [*centre.trends, *centre.means] if centre else []
    times = [each.start_ms for each in rows]
    return {"min": min(times), "max": max(times)} if times else {}


def _extent(centre: Centre | None) -> Options:
    """A little more than what there is: whole powers of ten would leave most of the chart empty."""
    shown = [us for each in (centre.trends if centre else ()) for us in (each.p50_us, each.p99_us)]
    return {"min": _ms(min(shown)) * 0.8, "max": _ms(max(shown)) * 1.25} if shown else {}


def _quantiles(centre: Centre | None) -> list[Options]:
    trends = centre.trends if centre else ()
    lines = [
        _line(name, [[each.start_ms, _ms(getattr(each, field))] for each in trends], colour, tooltip=_TOLD)
        for field, name, colour in _QUANTILES
    ]
    areas = [
        [{"xAxis": mean.start_ms - 30_000}, {"xAxis": mean.start_ms + 30_000}]
        for mean in (centre.means if centre else ())
        if mean.is_anomaly
    ]
    shade = {"color": "var(--alarm)", "opacity": 0.1}
    lines[0]["markArea"] = {"silent": True, "animation": False, "itemStyle": shade, "data": areas}
    return lines


def _means(centre: Centre | None) -> list[Options]:
    means = centre.means if centre else ()
    banded = [(each.start_ms, *each.band_us) for each in means if each.band_us is not None]
    below: Mapping[str, Any] = {"xAxisIndex": 1, "yAxisIndex": 1}
    hidden: Mapping[str, Any] = {**below, "stack": "band", "silent": True, "tooltip": {"show": False}}
    shade = {"color": "var(--band)", "opacity": 0.5}
    low = _line("low", [[at, _ms(low)] for at, low, _ in banded], "transparent", **hidden)
    band = [[at, _ms(high - low)] for at, low, high in banded]
    span = _line("band", band, "transparent", areaStyle=shade, **hidden)
    points = [[each.start_ms, _ms(each.mean_us)] for each in means]
    mean = _line("mean", points, "var(--mean)", tooltip=_TOLD, **below)
    anomalies = {
        "name": "anomaly",
        "type": "scatter",
        **below,
        "symbol": "triangle",
        "symbolSize": 9,
        "itemStyle": {"color": "var(--alarm)"},
        "tooltip": {"show": False},
        "z": 5,
        "data": [[each.start_ms, _ms(each.mean_us)] for each in means if each.is_anomaly],
    }
    return [low, span, mean, anomalies]


def _common() -> Options:
    return {
        "animation": False,
        "useUTC": True,
        "textStyle": {"fontFamily": _FONT},
        "tooltip": {
            "trigger": "axis",
            "className": "tip",
            "confine": True,
            "transitionDuration": 0,
            "axisPointer": {"type": "line", "lineStyle": {"color": "var(--soft)", "width": 1, "type": "solid"}},
        },
    }


def _time_axis(grid: int, *, labels: bool) -> Options:
    return {
        "type": "time",
        "gridIndex": grid,
        "axisLine": {"lineStyle": {"color": "var(--line)"}},
        "axisTick": {"show": False},
        "splitLine": {"show": False},
        "axisLabel": {**_LABEL, "show": labels, "hideOverlap": True, ":formatter": _TIME_LABEL},
        "axisPointer": {"label": {"show": False}},
    }


def _value_axis(grid: int, name: str) -> Options:
    return {
        "type": "value",
        "gridIndex": grid,
        "name": name,
        "nameTextStyle": _LABEL,
        "nameGap": 8,
        "splitNumber": 2,
        "axisLabel": _LABEL,
        "splitLine": {"lineStyle": {"color": "var(--line)", "width": 1}, "showMinLine": False, "showMaxLine": False},
    }


def _line(name: str, data: Sequence[Sequence[float]], colour: str, **more: Any) -> Options:
    return {
        "name": name,
        "type": "line",
        "showSymbol": False,
        "lineStyle": {"width": 1.6, "color": colour},
        "itemStyle": {"color": colour},
        "emphasis": {"disabled": True},
        "data": data,
        **more,
    }


def _ms(us: int) -> float:
    # A logarithmic axis has no zero.
    return max(us, 1) / 1000
