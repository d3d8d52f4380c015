"""What the controller refused a broker, raised where the broker needed it."""

from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError, StorageFailed


class ControllerRefused(BrokerError):
    def __init__(self, code: ErrorCode, text: str | None = None) -> None:
        super().__init__(text or f"the controller answered {code.name}")
        self.code = code  # type: ignore[misc]  # of each one its own


def raise_refusal(code: int, text: str | None = None) -> None:
    """Raises ControllerRefused, unless the code is that of success; StorageFailed where the metadata log failed."""
    if code == ErrorCode.KAFKA_STORAGE_ERROR:
        raise StorageFailed(text or "the metadata log cannot be written")
    if code:
        raise ControllerRefused(ErrorCode(code), text)
