"""The address that a listener is bound to, and binding it."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from agent_transport.admission.authority import write_host
from agent_transport.errors import ConfigurationError, ListenFailed


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """A bound address: a literal IP address and the port that the system gave."""

    host: str
    port: int

    @property
    def authority(self) -> str:
        return f"{write_host(self.host)}:{self.port}"


def bind(host: str, port: int) -> socket.socket:
    """Bind a literal IPv4 or IPv6 address; port 0 takes a free one. Nothing is accepted yet.

    Raises:
        ConfigurationError: `host` is a name, or `port` out of range.
        ListenFailed: the system refused the address.
    """
    version = check_address(host, port)
    bound = socket.socket(socket.AF_INET6 if version == 6 else socket.AF_INET)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if version == 6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise ListenFailed(f"{write_host(host)}:{port}", error.strerror or str(error)) from error
    bound.setblocking(False)
    return bound


def check_address(host: str, port: int) -> int:
    """Check what could be bound, and return the version of its IP address.

    Raises:
        ConfigurationError: `host` is a name, or `port` out of range.
    """
    try:
        version = ipaddress.ip_address(host).version
    except ValueError as error:
        raise ConfigurationError("host", "must be a literal IPv4 or IPv6 address") from error
    if not 0 <= port <= 65535:
        raise ConfigurationError("port", "must be between 0 and 65535")
    return version


def bound_address(bound: socket.socket) -> ListenAddress:
    """The address of a bound socket."""
    host, port = bound.getsockname()[:2]
    return ListenAddress(host, port)


def bound_silence(listening: socket.socket, seconds: float) -> None:
    """Give up on peers that acknowledge nothing for so long, where the system can (Linux).

    Accepted sockets inherit the option: one call here, none per connection.
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        listening.setsockopt(socket.IPPROTO_TCP, option, int(seconds * 1000))
