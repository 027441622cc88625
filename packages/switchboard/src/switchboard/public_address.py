"""By which names this service is called: its own address, and the public URL's."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from agent_transport.admission import HostRule, OriginRule, listener_host, origin_rule, public_host
from agent_transport.listen_address import ListenAddress
from switchboard.settings import Settings

_DEFAULT_PORTS = {"http": 80, "https": 443}


def local_url(address: ListenAddress) -> str:
    """The URL by which commands on this machine reach a listener."""
    return f"http://{_reachable(address).authority}"


def host_rule(settings: Settings, address: ListenAddress) -> HostRule:
    """The names that a Host header may have.

    A literal address is safe to accept: a page whose name was re-pointed sends its own name.
    """
    local = _reachable(address)
    rule = listener_host(address.host, address.port, local_names=settings.on_loopback)
    rule |= listener_host(local.host, local.port)
    if settings.public_url is not None:
        parts = urlsplit(settings.public_url)
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
        rule |= public_host(parts.scheme, parts.hostname or "", port)
    return rule


def allowed_origins(settings: Settings, address: ListenAddress) -> OriginRule:
    """The pages that may call: the listed ones, and the service's own."""
    own = urlsplit(settings.public_url or local_url(address))
    return origin_rule(*settings.allowed_origins, f"{own.scheme}://{own.netloc}")


def _reachable(address: ListenAddress) -> ListenAddress:
    """Every address of the machine is bound by one that is no destination."""
    bound = ip_address(address.host)
    if not bound.is_unspecified:
        return address
    return ListenAddress("127.0.0.1" if bound.version == 4 else "::1", address.port)
