"""Who sent a request to the controller, and how: what Envelope carries beside the request itself."""

from typing import NamedTuple


class ControllerRequestContext(NamedTuple):
    version: int
    """Of the request."""
    client_id: str | None = None
    principal: str | None = None
    """The user; None where a node of the cluster asks for itself, which no quota holds back."""
    host: str = ""
    """The address of the client."""

    @property
    def user(self) -> str:
        return self.principal or ""
