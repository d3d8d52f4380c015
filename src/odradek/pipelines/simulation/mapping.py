"""A map of the country of the trucks, as a page draws it: outline, roads, towns.

`python -m odradek.pipelines.simulation.mapping` prints the one that the console ships.
"""

import json
import math
import sys
from collections.abc import Sequence
from random import Random
from typing import Any

from odradek.pipelines.simulation.roads import KM_PER_DEGREE, MOTORWAY_KMH, Country, Point, draw_country
from odradek.pipelines.simulation.trucks import COUNTRY_SEED

_STEPS = 240
"""Points of the outline."""
_BESIDE = 26
"""So many steps to either side a place has a say in how far the country reaches."""
_ROUND = 9
_BORDER_KM = 22.0
_COAST_KM = (9.0, 6.0, 4.0, 2.5)
"""How far the outline goes in and out, by the length of its waves: from long to short."""
_WAVES = (5, 11, 23, 47)
_DIGITS = 3


def country_map() -> dict[str, Any]:
    """Places are pairs of longitude and latitude."""
    country = draw_country(Random(COUNTRY_SEED))
    return {
        "outline": [_pair(point) for point in outline(country)],
        "roads": [
            {"motorway": road.speed_kmh == MOTORWAY_KMH, "points": [_pair(point) for point in road.points]}
            for road in country.roads
        ],
        "towns": [{"name": name, "at": _pair(town)} for name, town in zip(country.names, country.towns, strict=True)],
    }


def outline(country: Country) -> list[Point]:
    """A line around all roads. From the middle of the country, each of its points can be seen."""
    places = [point for road in country.roads for point in road.points]
    middle = Point(_mean([each.latitude for each in places]), _mean([each.longitude for each in places]))
    narrow = math.cos(math.radians(middle.latitude))
    reach_km = [0.0] * _STEPS
    for place in places:
        east = (place.longitude - middle.longitude) * narrow * KM_PER_DEGREE
        north = (place.latitude - middle.latitude) * KM_PER_DEGREE
        step = round(math.atan2(north, east) / math.tau * _STEPS)
        for beside in range(-_BESIDE, _BESIDE + 1):
            at = (step + beside) % _STEPS
            reach_km[at] = max(reach_km[at], math.hypot(east, north) * math.cos(math.tau * beside / _STEPS))
    border = [reach + _BORDER_KM + coast for reach, coast in zip(_rounded(reach_km), _coast(), strict=True)]
    return [
        Point(
            middle.latitude + border[step] * math.sin(math.tau * step / _STEPS) / KM_PER_DEGREE,
            middle.longitude + border[step] * math.cos(math.tau * step / _STEPS) / KM_PER_DEGREE / narrow,
        )
        for step in range(_STEPS)
    ]


def _coast() -> list[float]:
    rng = Random(f"{COUNTRY_SEED}/coast")
    waves = [(wave, km, rng.uniform(0, math.tau)) for wave, km in zip(_WAVES, _COAST_KM, strict=True)]
    return [
        sum(km * math.sin(math.tau * wave * step / _STEPS + phase) for wave, km, phase in waves)
        for step in range(_STEPS)
    ]


def _rounded(reach_km: Sequence[float]) -> list[float]:
    return [
        _mean([reach_km[(step + beside) % _STEPS] for beside in range(-_ROUND, _ROUND + 1)]) for step in range(_STEPS)
    ]


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _pair(point: Point) -> list[float]:
    return [round(point.longitude, _DIGITS), round(point.latitude, _DIGITS)]


if __name__ == "__main__":
    json.dump(country_map(), sys.stdout, separators=(",", ":"))
    sys.stdout.write("\n")
