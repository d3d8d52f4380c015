"""A country that looks like one."""

from itertools import pairwise
from random import Random

import pytest

from odradek.pipelines.simulation.roads import TOWNS_MAX, distance_km, draw_country


@pytest.mark.parametrize("seed", range(5))
def test_every_town_can_be_reached_from_every_other(seed: int) -> None:
    country = draw_country(Random(seed))
    for start in range(len(country.towns)):
        for end in range(len(country.towns)):
            way = country.route(start, end)
            assert [road.first for road in way] == [start, *(road.last for road in way)][: len(way)]
            assert (way[-1].last if way else start) == end
            points = [point for road in way for point in road.points]
            assert not points or (points[0], points[-1]) == (country.towns[start], country.towns[end])


def test_roads_bend_but_do_not_wander() -> None:
    country = draw_country(Random(7))
    for road in country.roads:
        straight_km = distance_km(country.towns[road.first], country.towns[road.last])
        assert straight_km <= road.length_km <= 1.6 * straight_km
        assert all(distance_km(a, b) <= 9.0 for a, b in pairwise(road.points))
    assert any(len(road.points) > 8 for road in country.roads)


def test_a_country_of_too_many_towns_is_refused() -> None:
    with pytest.raises(ValueError, match=f"2 to {TOWNS_MAX} towns, not {TOWNS_MAX + 1}"):
        draw_country(Random(0), TOWNS_MAX + 1)
