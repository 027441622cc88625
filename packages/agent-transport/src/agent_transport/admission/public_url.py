"""The one URL that clients know a server by. Every name the gate checks comes from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from agent_transport.admission.authority import DEFAULT_PORTS, write_host, write_origin
from agent_transport.admission.host import HostRule, public_host
from agent_transport.admission.origin import OriginRule
from agent_transport.errors import ConfigurationError

METADATA_PREFIX = "/.well-known/oauth-protected-resource"

_PATH = re.compile(r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@%-]*)*\Z")
_HOST = re.compile(r"[A-Za-z0-9._-]+\Z|\[?[0-9A-Fa-f:.]+\]?\Z")


@dataclass(frozen=True, slots=True)
class PublicUrl:
    """An absolute https URL without userinfo, query or fragment.

    `text` is the URL as it was given: clients and token audiences compare it as a string.
    """

    text: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        return write_origin("https", self.host, self.port)

    @property
    def metadata_path(self) -> str:
        """Where RFC 9728 §3.1 puts the metadata of this resource: its path goes behind."""
        return METADATA_PREFIX + ("" if self.path == "/" else self.path)

    @property
    def metadata_url(self) -> str:
        return self.origin + self.metadata_path

    def host_rule(self) -> HostRule:
        return public_host("https", self.host, self.port)

    def origin_rule(self) -> OriginRule:
        return OriginRule(frozenset((self.origin.encode("ascii"),)))


def parse_public_url(text: str, *, field: str = "public_url") -> PublicUrl:
    """Read a public URL.

    Raises:
        ConfigurationError: naming `field`, when the text breaks a rule.
    """
    parts = split_https_url(text, field=field)
    host, port, path = parts.hostname or "", parts.port or DEFAULT_PORTS["https"], parts.path or "/"
    return PublicUrl(text=text, host=write_host(host), port=port, path=path)


def split_https_url(text: str, *, field: str) -> SplitResult:
    """Split an absolute https URL that has nothing but host, port and path.

    Raises:
        ConfigurationError: naming `field`, when the text breaks a rule.
    """
    problem = _problem(text)
    if problem:
        raise ConfigurationError(field, problem)
    return urlsplit(text)


def _problem(text: str) -> str | None:
    # urlsplit drops tabs and line breaks in silence, so look before it does.
    if not text.isascii() or not text.isprintable() or " " in text:
        return "may hold printable ASCII characters only"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme != "https" or not parts.hostname or port == 0:
        return "must be an absolute https URL"
    if "@" in parts.netloc:
        return "may not hold user information"
    if "?" in text or "#" in text:
        return "may not have a query or a fragment"
    if not _HOST.match(parts.hostname) or not _PATH.match(parts.path):
        return "has a character in its host or path that a URL may not have"
    return None
