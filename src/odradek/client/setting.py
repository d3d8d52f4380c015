"""What a client may be told; the defaults are those of Kafka's own clients, where they have one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random, SystemRandom

BACKOFF_S = 0.1
BACKOFF_S_MAX = 1.0
_JITTER = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSetting:
    client_id: str = "odradek"
    connect_timeout_s: float = 10
    """For a connection to be there, and for the broker to say which versions it has."""
    request_timeout_s: float = 30
    """For the answer to one request."""
    timeout_s: float = 60
    """For a request with all its retries."""
    frame_bytes_max: int = 100 << 20
    """The largest answer that is taken."""
    in_flight_max: int = 100
    """Requests on one connection that wait for their answers; more of them wait to be sent."""
    rng: Random = field(default_factory=SystemRandom)


def pauses_s(rng: Random) -> Iterator[float]:
    """How long to wait before each retry: twice as long each time, up to a limit, and never in step with others."""
    pause = BACKOFF_S
    while True:
        yield pause * rng.uniform(1 - _JITTER, 1 + _JITTER)
        pause = min(2 * pause, BACKOFF_S_MAX)
