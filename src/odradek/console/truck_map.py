"""Where things are on the map: longitude and latitude to kilometres on a plane, and what is shown of each truck."""

import json
import math
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from odradek.console.fleet import MOVING_KMH, Truck
from odradek.console.wording import clock_text

_KM_PER_DEGREE = 111.32
_MARGIN_KM = 8.0
_STATES = ("heard", "standing", "moving", "overtime")
"""In the order in which they are drawn: what matters most lies on top."""

Frame = tuple[float, float, float, float]
"""The left, the top, the width and the height of what is seen."""


class Plane:
    """Good enough for a country. `x` goes east and `y` goes south, both in kilometres."""

    def __init__(self, places: Iterable[Sequence[float]]) -> None:
        longitudes, latitudes = zip(*places, strict=True)
        self._west, self._north = min(longitudes), max(latitudes)
        self._narrow = math.cos(math.radians((min(latitudes) + max(latitudes)) / 2))

    def at(self, longitude: float, latitude: float) -> tuple[float, float]:
        x = (longitude - self._west) * self._narrow * _KM_PER_DEGREE
        return round(x, 1), round((self._north - latitude) * _KM_PER_DEGREE, 1)


@cache
def _shipped() -> tuple[Plane, dict[str, Any]]:
    country = json.loads(resources.files(__package__).joinpath("country.json").read_text(encoding="utf-8"))
    plane = Plane(country["outline"])
    land = {
        "outline": _path(plane, country["outline"]) + "Z",
        "roads": [{"motorway": road["motorway"], "path": _path(plane, road["points"])} for road in country["roads"]],
        "towns": [
            dict(zip("xy", plane.at(*town["at"]), strict=True)) | {"name": town["name"]} for town in country["towns"]
        ],
        "frame": _around([plane.at(*place) for place in country["outline"]]),
    }
    return plane, land


def land() -> dict[str, Any]:
    """The country, for the page to draw once."""
    return _shipped()[1]


def frame_of(trucks: Sequence[Truck]) -> Frame:
    """The country, and all trucks; trucks alone where none of them is in it."""
    plane, shipped = _shipped()
    whole: Frame = shipped["frame"]
    left, top, width, height = whole
    places = [plane.at(truck.at.longitude, truck.at.latitude) for truck in trucks]
    inside = [left <= x <= left + width and top <= y <= top + height for x, y in places]
    if all(inside):
        return whole
    corners = [(left + _MARGIN_KM, top + _MARGIN_KM), (left + width - _MARGIN_KM, top + height - _MARGIN_KM)]
    return _around([*places, *corners] if any(inside) else places)


def shown(trucks: Sequence[Truck]) -> list[dict[str, Any]]:
    dots = [_dot(truck) for truck in trucks]
    return sorted(dots, key=lambda dot: _STATES.index(dot["state"]))


def _dot(truck: Truck) -> dict[str, Any]:
    plane, at = _shipped()[0], truck.at
    x, y = plane.at(at.longitude, at.latitude)
    is_moving = at.speed_kmh >= MOVING_KMH
    told = f"{at.speed_kmh:.0f} km/h" if is_moving else "standing"
    if truck.is_overtime:
        state, told = "overtime", f"{told}, over the limit"
    elif not truck.is_result:
        state, told = "heard", f"{told}; no result yet"
    else:
        state = "moving" if is_moving else "standing"
    trail = [plane.at(each.longitude, each.latitude) for each in truck.trail]
    return {
        "name": at.truck,
        "driver": at.driver,
        "x": x,
        "y": y,
        "state": state,
        "told": told,
        "time": clock_text(at.time_ms),
        "trail": " ".join(f"{east},{south}" for east, south in (*trail, (x, y))) if trail else "",
    }


def _path(plane: Plane, places: Iterable[Sequence[float]]) -> str:
    return "M" + "L".join("{},{}".format(*plane.at(*place)) for place in places)


def _around(places: Sequence[tuple[float, float]]) -> Frame:
    left, right = min(x for x, _ in places) - _MARGIN_KM, max(x for x, _ in places) + _MARGIN_KM
    top, bottom = min(y for _, y in places) - _MARGIN_KM, max(y for _, y in places) + _MARGIN_KM
    return (round(left, 1), round(top, 1), round(right - left, 1), round(bottom - top, 1))
