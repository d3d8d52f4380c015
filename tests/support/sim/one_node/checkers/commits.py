"""What a group reads is what it committed last, or asked to."""

from support.sim.violations import Violation


class Commits:
    def __init__(self) -> None:
        self._acked = -1
        self._asked = -1

    def asked(self, offset: int) -> None:
        self._asked = offset

    def acked(self, offset: int) -> None:
        self._acked = offset

    def read(self, offset: int) -> None:
        if not self._acked <= offset <= self._asked:
            raise Violation(f"{offset} is read, where {self._acked} was committed last and {self._asked} asked for")
