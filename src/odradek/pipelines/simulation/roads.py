"""A country of towns with roads between them, drawn from a seed."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

KM_PER_DEGREE = 111.32
_SOUTH, _NORTH, _WEST, _EAST = 47.6, 53.6, 7.2, 13.4
_APART_KM_LEAST = 55.0
_PLACES_TRIED_MAX = 2_000
_ROADS_OF_TOWN = 3
_BEND_KM = 9.0
_BEND_SHARE = 0.09
_MOTORWAY_KM = 110.0
MOTORWAY_KMH, ROAD_KMH = 82.0, 64.0
_NAMES = (
    "Amselfurt", "Birkenau", "Distelbach", "Eschweil", "Falkenrode", "Grauenstein", "Hollern", "Immenried",
    "Kaltwasser", "Lindenhag", "Moorbeck", "Neumarkt", "Ostheim", "Quellbrunn", "Rabenfels", "Steinach", "Tannroda",
    "Ulmen", "Weidenau", "Zellin",
)  # fmt: skip
TOWNS_MAX = len(_NAMES)


@dataclass(frozen=True, slots=True)
class Point:
    latitude: float
    longitude: float


@dataclass(frozen=True, slots=True)
class Road:
    """From one town to another, by their numbers. It may be driven both ways."""

    first: int
    last: int
    points: tuple[Point, ...]
    length_km: float
    speed_kmh: float


@dataclass(frozen=True, slots=True)
class Country:
    names: tuple[str, ...]
    towns: tuple[Point, ...]
    roads: tuple[Road, ...]

    def route(self, start: int, end: int) -> list[Road]:
        """The fastest way, each road in the direction in which it is driven. Every town can be reached."""
        leaving: dict[int, list[Road]] = {town: [] for town in range(len(self.towns))}
        for road in self.roads:
            leaving[road.first].append(road)
            leaving[road.last].append(_turned(road))
        came_by: dict[int, Road] = {}
        hours = {start: 0.0}
        open_towns = [(0.0, start)]
        while open_towns:
            so_far, town = heapq.heappop(open_towns)
            if so_far > hours[town]:
                continue
            for road in leaving[town]:
                there = so_far + road.length_km / road.speed_kmh
                if there < hours.get(road.last, math.inf):
                    hours[road.last] = there
                    came_by[road.last] = road
                    heapq.heappush(open_towns, (there, road.last))
        way: list[Road] = []
        while end != start:
            way.append(came_by[end])
            end = came_by[end].first
        return way[::-1]


def distance_km(a: Point, b: Point) -> float:
    """On a plane, which is near enough for a country."""
    east = (a.longitude - b.longitude) * math.cos(math.radians((a.latitude + b.latitude) / 2))
    return KM_PER_DEGREE * math.hypot(a.latitude - b.latitude, east)


def draw_country(rng: Random, towns: int = 14) -> Country:
    """Towns that are not too near to each other, each with roads to its nearest ones."""
    if not 2 <= towns <= TOWNS_MAX:
        raise ValueError(f"a country has 2 to {TOWNS_MAX} towns, not {towns}")
    places = _places(rng, towns)
    roads = tuple(_road(rng, places, first, last) for first, last in _pairs(places))
    return Country(tuple(rng.sample(_NAMES, towns)), places, roads)


def _places(rng: Random, towns: int) -> tuple[Point, ...]:
    found: list[Point] = []
    for _ in range(_PLACES_TRIED_MAX):
        place = Point(rng.uniform(_SOUTH, _NORTH), rng.uniform(_WEST, _EAST))
        if all(distance_km(place, other) >= _APART_KM_LEAST for other in found):
            found.append(place)
        if len(found) == towns:
            return tuple(found)
    raise AssertionError(f"no place for {towns} towns")


def _pairs(places: Sequence[Point]) -> list[tuple[int, int]]:
    """Each town with its nearest ones, and with the nearest that was there before it: so all are connected."""
    pairs: set[tuple[int, int]] = set()
    for town, place in enumerate(places):
        by_distance = sorted(range(len(places)), key=lambda other: distance_km(place, places[other]))
        near = by_distance[1 : 1 + _ROADS_OF_TOWN]
        before = [other for other in by_distance if other < town][:1]
        pairs.update((min(town, other), max(town, other)) for other in (*near, *before))
    return sorted(pairs)


def _road(rng: Random, places: Sequence[Point], first: int, last: int) -> Road:
    points = _bent(rng, places[first], places[last])
    length_km = sum(distance_km(a, b) for a, b in pairwise(points))
    return Road(first, last, points, length_km, MOTORWAY_KMH if length_km >= _MOTORWAY_KM else ROAD_KMH)


def _bent(rng: Random, start: Point, end: Point) -> tuple[Point, ...]:
    """Halved until the parts are short; each middle is moved aside by a share of what it is the middle of."""
    length_km = distance_km(start, end)
    if length_km <= _BEND_KM:
        return (start, end)
    aside = rng.gauss(0.0, _BEND_SHARE)
    middle = Point(
        (start.latitude + end.latitude) / 2 + aside * (end.longitude - start.longitude) * 0.6,
        (start.longitude + end.longitude) / 2 - aside * (end.latitude - start.latitude) * 1.6,
    )
    return (*_bent(rng, start, middle), *_bent(rng, middle, end)[1:])


def _turned(road: Road) -> Road:
    return Road(road.last, road.first, road.points[::-1], road.length_km, road.speed_kmh)
