"""What a resource server needs to know before it may listen beyond this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_transport.admission.audit import Audit, AuditRecord
from agent_transport.admission.client_address import TrustedProxies, parse_proxies
from agent_transport.admission.public_url import PublicUrl, parse_public_url, split_https_url
from agent_transport.admission.scopes import is_scope
from agent_transport.admission.verifier import TokenVerifier
from agent_transport.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Authorization:
    """Checked settings of a resource server; build it with `build_authorization`."""

    public_url: PublicUrl
    issuer: str
    scopes: tuple[str, ...]
    verifier: TokenVerifier = field(repr=False)
    trusted_proxies: TrustedProxies
    audit: Audit = field(repr=False)


def build_authorization(
    *,
    public_url: str,
    issuer: str,
    scopes: Sequence[str],
    verifier: TokenVerifier,
    trusted_proxies: Sequence[str] = (),
    audit: Audit | None = None,
) -> Authorization:
    """Check the settings and keep them. `audit` None keeps no record.

    Raises:
        ConfigurationError: naming the field whose value breaks a rule.
    """
    split_https_url(issuer, field="issuer")
    return Authorization(
        public_url=parse_public_url(public_url),
        issuer=issuer,
        scopes=_checked_scopes(scopes),
        verifier=_checked_verifier(verifier),
        trusted_proxies=_checked_proxies(trusted_proxies),
        audit=audit or _keep_nothing,
    )


def _checked_scopes(scopes: Sequence[str]) -> tuple[str, ...]:
    if isinstance(scopes, str) or not scopes:
        raise ConfigurationError("scopes", "must be a sequence of at least one scope")
    if not all(map(is_scope, scopes)):
        raise ConfigurationError("scopes", "has a character that a scope may not have")
    return tuple(dict.fromkeys(scopes))


def _checked_verifier(verifier: TokenVerifier) -> TokenVerifier:
    verify: Callable[[str], object] | None = getattr(verifier, "verify", None)
    if not callable(verify):
        raise ConfigurationError("verifier", "must have a verify method")
    return verifier


def _checked_proxies(texts: Sequence[str]) -> TrustedProxies:
    try:
        return parse_proxies(texts)
    except ValueError as error:
        rule = "must be literal addresses or networks"
        raise ConfigurationError("trusted_proxies", rule) from error


def _keep_nothing(_: AuditRecord) -> None:
    return None
