"""The map that is shipped is that of the simulated country, and everything has its place on it."""

import json
from dataclasses import replace
from importlib import resources
from typing import Any

from odradek.console import truck_map
from odradek.console.fleet import Truck
from odradek.console.rows import Position
from odradek.pipelines.simulation.mapping import country_map


def truck(
    latitude: float, longitude: float, *, name: str = "t", speed_kmh: float = 80.0, overtime: bool = False
) -> Truck:
    at = Position(name, "d", 1_772_352_000_000, latitude, longitude, speed_kmh)
    before = Position(name, "d", 1_772_351_900_000, latitude - 0.1, longitude, speed_kmh)
    return Truck(at, (before,), overtime)


def test_the_shipped_country_is_that_of_the_simulation() -> None:
    shipped = json.loads(resources.files("odradek.console").joinpath("country.json").read_text(encoding="utf-8"))
    assert shipped == country_map()  # python -m odradek.pipelines.simulation.mapping > src/odradek/console/country.json


def test_all_roads_are_within_the_outline() -> None:
    country = country_map()
    for road in country["roads"]:
        assert all(_is_inside(point, country["outline"]) for point in road["points"])


def test_a_degree_has_its_length() -> None:
    """A degree of latitude is some 111 km everywhere, one of longitude less, the further from the equator."""
    plane = truck_map.Plane([(8.0, 49.0), (12.0, 53.0)])
    assert plane.at(8.0, 53.0) == (0.0, 0.0)
    assert plane.at(8.0, 52.0) == (0.0, 111.3)
    assert plane.at(9.0, 53.0) == (70.1, 0.0)


def test_the_frame_is_the_country_and_grows_for_trucks_outside_of_it() -> None:
    inside, outside = truck(50.5, 10.0), truck(40.0, 20.0)
    whole = truck_map.land()["frame"]
    assert truck_map.frame_of([]) == truck_map.frame_of([inside]) == whole
    left, top, width, height = truck_map.frame_of([inside, outside])
    assert (left, top) == (whole[0], whole[1])
    assert width > whole[2]
    assert height > whole[3]
    alone = truck_map.frame_of([outside])
    assert alone[2] == alone[3] == 16.0


def test_what_matters_most_lies_on_top() -> None:
    trucks = [truck(50, 10, name="a", overtime=True), truck(50, 10, name="b"), truck(50, 10, name="c", speed_kmh=0.0)]
    dots = truck_map.shown(trucks)
    assert [(dot["name"], dot["state"]) for dot in dots] == [("c", "standing"), ("b", "moving"), ("a", "overtime")]
    assert dots[2]["told"] == "80 km/h, over the limit"
    heard = truck_map.shown([replace(trucks[1], is_result=False)])[0]
    assert (heard["state"], heard["told"]) == ("heard", "80 km/h; no result yet")
    assert dots[0]["trail"].endswith(f"{dots[0]['x']},{dots[0]['y']}")


def _is_inside(point: list[float], outline: list[Any]) -> bool:
    """By the number of times that a line to the east crosses the outline."""
    x, y = point
    crossed = False
    for (x1, y1), (x2, y2) in zip(outline, [*outline[1:], outline[0]], strict=True):
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            crossed = not crossed
    return crossed
