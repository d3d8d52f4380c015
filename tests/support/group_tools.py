"""Apache Kafka's tools for groups, and its consumers, on two brokers in turn; and what they print side by side."""

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from support.kafka_tools import KafkaTools

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"

_LIMIT_S = 300
_PATIENT = ("--timeout", "60000")
"""For the tool for groups: it would give up where a broker stands still for five seconds."""
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_SHORT_UUID = re.compile(r"(?<![\w.-])[\w-]{22}(?![\w-])")
_WORDS = re.compile(r"(org\.apache\.kafka\.common\.(?:errors\.)?\w+Exception): .*")
"""Of an error that the broker told: each has its own."""
_STACK = re.compile(r"^\s(?:at |\.\.\. ).*\n", re.MULTILINE)


class Stage:
    """One of the two brokers while a case is played on it. What tools print is kept, without what must differ."""

    def __init__(self, name: str, port: int, tools: KafkaTools) -> None:
        self.name = name
        self.bootstrap = f"127.0.0.1:{port}"
        self.printed: list[list[str]] = []
        # Not within another number: the limits that scripts print have many digits.
        self._port = re.compile(rf"(?<!\d){port}(?!\d)")
        self._tools = tools

    def tool(self, main_class: str, *arguments: str) -> str:
        """What a tool printed, which is not compared."""
        more = _PATIENT if main_class == GROUPS else ()
        return self.run(main_class, "--bootstrap-server", self.bootstrap, *more, *arguments)

    def run(self, main_class: str, *arguments: str, given: str = "") -> str:
        """The same for one that has to be told of the broker in another way. `given` is its standard input."""
        ended = self._tools.run(main_class, *arguments, given=given)
        return f"{ended.out}{ended.err}status {ended.status}\n"

    @property
    def errors(self) -> list[str]:
        """Names of those that the last tool has logged."""
        return self._tools.errors

    def groups(self, *arguments: str) -> str:
        """What the tool for consumer groups printed, which is compared."""
        printed = self.tool(GROUPS, *arguments)
        self.keep(printed)
        return printed

    def keep(self, printed: str, *, in_order: bool = False) -> None:
        """Have this compared: its lines, in any order, since most come out of hash tables."""
        for pattern, stands_for in ((_UUID, "uuid"), (_SHORT_UUID, "id"), (_WORDS, r"\1"), (_STACK, "")):
            printed = pattern.sub(stands_for, printed)
        lines = self._port.sub("port", printed).splitlines()
        self.printed.append([f"line {at}: {line}" for at, line in enumerate(lines)] if in_order else sorted(lines))

    def join(self, name: str, group: str, **how: Any) -> None:
        """A Java consumer becomes a member, with `topics`, a `pattern` or an `re2` expression, and `settings`."""
        settings = {"bootstrap.servers": self.bootstrap, "group.id": group, "client.id": name}
        settings |= {key.replace("_", "."): value for key, value in how.pop("settings", {}).items()}
        self._tools.ask("join", name=f"{self.name} {name}", settings=settings, **how)

    def wait_assigned(self, name: str, *partitions: str) -> None:
        answer = self._tools.ask("await", name=f"{self.name} {name}", assigned=sorted(partitions))
        assert answer["assigned"] == sorted(partitions), f"{name} on {self.name}"

    def wait_state(self, group: str, state: str, members: int) -> None:
        """A member knows what it is assigned before the group is stable, and one that left may not be heard of yet."""
        deadline = time.monotonic() + _LIMIT_S
        wanted = re.compile(rf" {state} +{members}$", re.MULTILINE)
        while not wanted.search(told := self.tool(GROUPS, "--describe", "--state", "--group", group)):
            assert time.monotonic() < deadline, f"{group} on {self.name} does not become {state}: {told}"

    def leave(self, name: str) -> None:
        self._tools.ask("leave", name=f"{self.name} {name}")


S = TypeVar("S", bound=Stage)


def differences(case: Callable[[S], None], stages: Sequence[S]) -> str:
    """What the two print differently when the case is played on both, as text: nothing, if they agree."""
    for stage in stages:
        stage.printed.clear()
        case(stage)
    first, second = stages
    lines: list[str] = []
    for at, (one, other) in enumerate(zip(first.printed, second.printed, strict=True)):
        for name, more in ((first.name, Counter(one) - Counter(other)), (second.name, Counter(other) - Counter(one))):
            lines += [f"{at} {name}: {line}" for line in more.elements()]
    return "\n".join(lines)
