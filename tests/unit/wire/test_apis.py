import subprocess
import sys

import pytest

from odradek.wire.apis import APIS, BROKER, CONTROLLER, NEVER
from odradek.wire.messages.fetch import FetchRequest, FetchResponse
from odradek.wire.schema import LATEST, Message


def test_every_request_and_response_is_found_by_its_key(messages: dict[str, type[Message]]) -> None:
    found = {kind.__name__: kind for api in APIS.values() for kind in (api.request, api.response)}
    assert found == {
        name: kind for name, kind in messages.items() if kind.__module__.startswith("odradek.wire.messages.")
    }
    assert APIS[1].request is FetchRequest
    assert APIS[1].response is FetchResponse


@pytest.mark.parametrize("key", APIS)
def test_the_table_agrees_with_the_messages(key: int) -> None:
    api = APIS[key]
    for kind in (api.request, api.response):
        assert kind.spec.key == key
        assert min(kind.spec.flexible, NEVER) == api.flexible or kind.spec.flexible == LATEST
        assert api.versions[1] <= kind.spec.versions[1]
        if api.name != "Produce":
            assert api.versions[0] == kind.spec.versions[0]


def test_what_is_offered_is_not_always_what_is_defined() -> None:
    assert APIS[0].versions == (0, 13)
    assert APIS[0].request.spec.versions == (3, 13)
    assert APIS[22].versions == (0, 5)
    assert APIS[22].request.spec.versions == (0, 6)
    assert [api.name for api in APIS.values() if api.versions != api.request.spec.versions] == [
        "Produce",
        "InitProducerId",
    ]


def test_versions_and_listeners() -> None:
    assert [APIS[18].serves(version) for version in (-1, 0, 4, 5)] == [False, True, True, False]
    assert APIS[52].listeners == CONTROLLER
    assert APIS[0].listeners == BROKER
    assert APIS[1].listeners == BROKER | CONTROLLER
    assert sum("broker" in api.listeners for api in APIS.values()) == 77


def test_the_table_loads_no_message() -> None:
    code = "import sys, odradek.wire.apis; print(*(name for name in sys.modules if name.startswith('odradek.')))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["odradek.wire", "odradek.wire.apis"]
