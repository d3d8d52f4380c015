"""Where the page is served. It needs nothing of the web server: a port that is taken is told before that is loaded."""

import socket

from odradek.model.address import format_host
from odradek.model.errors import OdradekError


class CannotListen(OdradekError):
    def __init__(self, host: str, port: int, error: OSError) -> None:
        super().__init__(f"cannot listen on {format_host(host)}:{port}: {error.strerror or error}")


def listen(host: str, port: int) -> socket.socket:
    """With port 0, on any that is free. Raises CannotListen."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotListen(host, port, error) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
        listening.listen()
    except OSError as error:
        listening.close()
        raise CannotListen(host, port, error) from None
    return listening
