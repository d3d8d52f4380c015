"""The page: where everything is, and how it follows the picture. Every browser that looks at it has one."""

from collections.abc import Callable
from importlib import resources
from typing import Any

from nicegui import ui
from nicegui.element import Element

from odradek.console import charts, panels, truck_map
from odradek.console.fleet import Truck
from odradek.console.picture import Picture

_TICK_S = 1.0
_MODES: dict[str, bool | None] = {"System": None, "Light": False, "Dark": True}
_PICK = "(e) => { const row = e.target.closest('[data-centre]'); if (row) emit(row.dataset.centre); }"


class TruckMap(Element, component="truck_map.js"):
    def __init__(self) -> None:
        super().__init__()
        self._props["land"] = truck_map.land()
        self._trucks: tuple[Truck, ...] = ()
        self._is_ready = False
        self.on("ready", self._begin)

    def show(self, trucks: tuple[Truck, ...]) -> None:
        """Only what moves is sent, when it has: the country went out with the page."""
        if trucks != self._trucks:
            self._trucks = trucks
            self._send()

    def _begin(self) -> None:
        """There is somebody now who can be told."""
        self._is_ready = True
        self._send()

    def _send(self) -> None:
        if self._is_ready:
            self.run_method("show", truck_map.frame_of(self._trucks), truck_map.shown(self._trucks))


class Text:
    """A part of the page that is HTML, and is sent when it has changed."""

    def __init__(self, classes: str, tag: str = "div") -> None:
        self.html = ui.html("", sanitize=False, tag=tag).classes(classes)

    def show(self, content: str) -> None:
        if self.html.content != content:
            self.html.content = content


class Chart:
    """One that is sent when it has changed."""

    def __init__(self, options: charts.Options, classes: str) -> None:
        self._chart = ui.echart(options, renderer="svg").classes(classes)

    def show(self, options: charts.Options) -> None:
        if self._chart.options != options:
            self._chart.options.clear()
            self._chart.options.update(options)
            self._chart.update()


class Page:
    def __init__(self, latest: Callable[[], Picture]) -> None:
        self._latest = latest
        self._shown: Picture | None = None
        self._picked: str | None = None
        ui.add_css(resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8"))
        self._head()
        with ui.element("div").classes("board"):
            self._fleet()
            self._tenants()
            self._side()
        self._follow()
        ui.timer(_TICK_S, self._follow)

    # --- what is where

    def _head(self) -> None:
        mode = ui.dark_mode(None)
        with ui.element("header"):
            Text("brand").show("<b>odradek</b> live results")
            self._link = Text("status")
            toggle = ui.toggle(
                list(_MODES), value="System", on_change=lambda change: mode.set_value(_MODES[change.value])
            )
            toggle.props("flat dense no-caps size=sm padding='0 8px' color=soft toggle-color=ink").classes("modes")

    def _fleet(self) -> None:
        with ui.element("div").classes("column trucks"):
            with ui.element("section").classes("fleet"):
                self._counts = _title("Trucks")
                self._map = TruckMap()
            with ui.element("section").classes("alerts"):
                self._alert_count = _title("Drivers without a break")
                self._alerts = Text("scroll")

    def _tenants(self) -> None:
        with ui.element("div").classes("column tenants"):
            with ui.element("section").classes("centres"):
                self._minute = _title("Data centres")
                self._centres = Text("scroll")
                for event in ("pointerdown", "click"):
                    # A row is made anew when its figures change, and a click would be lost if that came in between.
                    self._centres.html.on(event, lambda picked: self._pick(picked.args), js_handler=_PICK)
            with ui.element("section").classes("latency"):
                self._latency_title = _title("Latency")
                self._latency = Chart(charts.latency_chart(None), "chart")

    def _side(self) -> None:
        with ui.element("div").classes("column side"):
            with ui.element("section").classes("activity"):
                self._window = _title("Active now")
                self._figures = Text("figures")
                self._activity = Chart(charts.activity_chart(()), "chart")
            with ui.element("section").classes("jobs"):
                _title("Jobs").show("their last batch")
                self._jobs = Text("scroll")
            with ui.element("section").classes("letters"):
                self._letter_count = _title("Dead letters")
                self._letters = Text("scroll")

    # --- what it says

    def _pick(self, centre: Any) -> None:
        self._picked = str(centre)
        self._shown = None
        self._follow()

    def _follow(self) -> None:
        picture = self._latest()
        if picture is self._shown:
            return
        self._shown = picture
        self._link.show(panels.link(picture))
        self._counts.show(panels.fleet(picture))
        self._map.show(picture.trucks)
        self._window.show(panels.window_text(picture.activity))
        self._figures.show(panels.figures(picture.activity))
        self._activity.show(charts.activity_chart(picture.activity))
        self._show_latency(picture)
        self._alert_count.show(f"{len(picture.overtimes)} in all" if picture.overtimes else "")
        self._alerts.show(panels.alerts(picture.overtimes))
        self._jobs.show(panels.jobs(picture.jobs))
        self._letter_count.show(panels.total_text(picture.letters))
        self._letters.show(panels.letters(picture.letters))

    def _show_latency(self, picture: Picture) -> None:
        """Of the data centre that was chosen; until one is, of the first."""
        by_name = {centre.name: centre for centre in picture.centres}
        centre = by_name.get(self._picked or "") or next(iter(picture.centres), None)
        self._minute.show(panels.minute_told(picture.centres))
        self._centres.show(panels.centres(picture.centres, centre.name if centre else None))
        self._latency_title.show(panels.latency_title(centre))
        self._latency.show(charts.latency_chart(centre))


def _title(text: str) -> Text:
    """A heading, and room for a note beside it."""
    with ui.element("h2"):
        ui.html(text, sanitize=False, tag="span")
        return Text("note", "span")
