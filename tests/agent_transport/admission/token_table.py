"""Tokens by the dozen: each with what must become of it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import serialization

from agent_transport.admission import TokenFault
from tests.agent_transport.admission.issuer import (
    AUDIENCE,
    EC_KEY,
    ED_KEY,
    ISSUER,
    KEYS,
    NOW_S,
    OTHER_RSA_KEY,
    P384_KEY,
    RSA_KEY,
    SMALL_RSA_KEY,
    claims,
    private_jwk,
    published,
    token,
)

F = TokenFault
NOW = int(NOW_S)
GOOD = token()
HEADER, CLAIMS, SIGNATURE = GOOD.split(".")
RSA_PUBLIC_TEXT = RSA_KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)
HMAC_KEY = b"k" * 32


def part(value: object) -> str:
    return raw(json.dumps(value).encode())


def raw(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def glued(header: object, body: object, signature: str = SIGNATURE) -> str:
    return f"{part(header)}.{part(body)}.{signature}"


def telling(claims_text: bytes) -> str:
    """A token whose claims are these bytes."""
    return f"{HEADER}.{raw(claims_text)}.{SIGNATURE}"


def keyed_with_public_key() -> str:
    """HS256 over the published key: the classic confusion. Built by hand; libraries refuse to."""
    signed = f"{part({'typ': 'at+jwt', 'alg': 'HS256', 'kid': 'rsa'})}.{part(claims())}"
    digest = hmac.new(RSA_PUBLIC_TEXT, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{raw(digest)}"


class Row(NamedTuple):
    """A token, what becomes of it, and whether the issuer is asked for keys on the way."""

    name: str
    token: str
    fault: TokenFault | None
    asks: bool = True
    keys: list[dict[str, Any]] = KEYS


ADMITTED = [
    Row("RS256", GOOD, None),
    Row("ES256", token(EC_KEY, "ES256", "ec"), None),
    Row("EdDSA", token(ED_KEY, "EdDSA", "ed"), None),
    Row("type in full", token(header={"typ": "application/at+jwt"}), None),
    Row("type in capitals", token(header={"typ": "AT+JWT"}), None),
    Row("audience among others", token(aud=["https://other.example", AUDIENCE]), None),
    Row("more scopes than needed", token(scope="a agent:use b"), None),
    Row("listed client, other subject", token(sub="eve", client_id="robot"), None),
    Row("listed client, no subject", token(sub=None, client_id="robot"), None),
    Row("listed subject, no client", token(client_id=None), None),
    Row("no key id, one key fits", token(key_id=None), None),
    Row("no issue time", token(iat=None), None),
    Row("time with a fraction", token(exp=NOW + 0.5), None),
    Row("expired 59 s ago", token(exp=NOW - 59), None),
    Row("valid in 60 s", token(nbf=NOW + 60), None),
    Row("issued in 60 s", token(iat=NOW + 60), None),
    Row("two types under one id", GOOD, None, True, [*KEYS, published(EC_KEY, "rsa")]),
    Row("broken key beside it", GOOD, None, True, [*KEYS, {"kty": "RSA", "kid": "x", "n": "!"}]),
    Row("rubbish beside it", GOOD, None, True, [*KEYS, "no key"]),  # type: ignore[list-item]
]

REFUSED_WITHOUT_ASKING = [
    Row("one byte too long", GOOD + "a" * (8193 - len(GOOD)), F.OVERSIZE, False),
    Row("empty", "", F.MALFORMED, False),
    Row("one part", "abc", F.MALFORMED, False),
    Row("two parts", f"{HEADER}.{CLAIMS}", F.MALFORMED, False),
    Row("four parts", f"{GOOD}.{SIGNATURE}", F.MALFORMED, False),
    Row("encrypted form", "a.b.c.d.e", F.MALFORMED, False),
    Row("padded", f"{HEADER}.{CLAIMS}.{SIGNATURE}==", F.MALFORMED, False),
    Row("standard alphabet", f"{HEADER}.{CLAIMS}.a+/b", F.MALFORMED, False),
    Row("bits left over", f"{HEADER}.{CLAIMS}.ab", F.MALFORMED, False),
    Row("not ASCII", f"{HEADER}.{CLAIMS}.é", F.MALFORMED, False),
    Row("header no JSON", f"{raw(b'nope')}.{CLAIMS}.{SIGNATURE}", F.MALFORMED, False),
    Row("header no object", f"{part([1])}.{CLAIMS}.{SIGNATURE}", F.MALFORMED, False),
    Row("claims no object", f"{HEADER}.{part('x')}.{SIGNATURE}", F.MALFORMED, False),
    Row("claims not UTF-8", telling(bytes([0xFF])), F.MALFORMED, False),
    Row("nested too deep", telling(b"[" * 5000), F.MALFORMED, False),
    Row("claim twice", telling(b'{"iss":1,"iss":2}'), F.MALFORMED, False),
    Row("not a number", telling(b'{"exp":NaN}'), F.MALFORMED, False),
    Row("number of 5000 digits", telling(b"9" * 5000), F.MALFORMED, False),
    Row("no algorithm", glued({"typ": "at+jwt"}, claims()), F.MALFORMED, False),
    Row("algorithm no text", glued({"typ": "at+jwt", "alg": 1}, claims()), F.MALFORMED, False),
    Row(
        "key id no text",
        glued({"typ": "at+jwt", "alg": "RS256", "kid": 7}, claims()),
        F.MALFORMED,
        False,
    ),
    Row("critical extension", token(header={"crit": ["exp"]}), F.MALFORMED, False),
    Row("no type", glued({"alg": "RS256", "kid": "rsa"}, claims()), F.WRONG_TYPE, False),
    Row("plain type", token(header={"typ": "JWT"}), F.WRONG_TYPE, False),
    Row("ID token", token(header={"typ": "id+jwt"}), F.WRONG_TYPE, False),
    Row(
        "algorithm none",
        glued({"typ": "at+jwt", "alg": "none"}, claims(), ""),
        F.UNSUPPORTED_ALGORITHM,
        False,
    ),
    Row(
        "algorithm None",
        glued({"typ": "at+jwt", "alg": "None"}, claims(), ""),
        F.UNSUPPORTED_ALGORITHM,
        False,
    ),
    Row("HS256", token(HMAC_KEY, "HS256"), F.UNSUPPORTED_ALGORITHM, False),
    Row("HS256, public key", keyed_with_public_key(), F.UNSUPPORTED_ALGORITHM, False),
    Row("RS512", token(algorithm="RS512"), F.UNSUPPORTED_ALGORITHM, False),
    Row("PS256", token(algorithm="PS256"), F.UNSUPPORTED_ALGORITHM, False),
    Row("ES384", token(P384_KEY, "ES384", "ec"), F.UNSUPPORTED_ALGORITHM, False),
    Row("other issuer", token(iss="https://evil.example"), F.WRONG_ISSUER, False),
    Row("issuer with a slash", token(iss=f"{ISSUER}/"), F.WRONG_ISSUER, False),
    Row("issuer in capitals", token(iss=ISSUER.upper()), F.WRONG_ISSUER, False),
    Row("no issuer", token(iss=None), F.WRONG_ISSUER, False),
    Row("other audience", token(aud="https://other.example"), F.WRONG_AUDIENCE, False),
    Row("audience with a slash", token(aud=f"{AUDIENCE}/"), F.WRONG_AUDIENCE, False),
    Row("audience by prefix", token(aud="https://agents.example"), F.WRONG_AUDIENCE, False),
    Row("no audience", token(aud=None), F.WRONG_AUDIENCE, False),
    Row("empty audience", token(aud=[]), F.WRONG_AUDIENCE, False),
    Row(
        "audience an object",
        glued({"typ": "at+jwt", "alg": "RS256"}, claims(aud={AUDIENCE: 1})),
        F.WRONG_AUDIENCE,
        False,
    ),
    Row("expired 60 s ago", token(exp=NOW - 60), F.EXPIRED, False),
    Row("expired long ago", token(exp=0), F.EXPIRED, False),
    Row("no expiry", token(exp=None), F.MALFORMED, False),
    Row(
        "expiry a text",
        glued({"typ": "at+jwt", "alg": "RS256"}, claims(exp="soon")),
        F.MALFORMED,
        False,
    ),
    Row(
        "expiry true",
        glued({"typ": "at+jwt", "alg": "RS256"}, claims(exp=True)),
        F.MALFORMED,
        False,
    ),
    Row(
        "expiry without end",
        telling(json.dumps(claims()).encode().replace(b"1800000300", b"1e999")),
        F.MALFORMED,
        False,
    ),
    Row("valid in 61 s", token(nbf=NOW + 61), F.NOT_YET_VALID, False),
    Row("issued in 61 s", token(iat=NOW + 61), F.NOT_YET_VALID, False),
    Row("stranger", token(sub="eve"), F.PRINCIPAL_NOT_ALLOWED, False),
    Row("subject as client", token(sub="robot", client_id="ada"), F.PRINCIPAL_NOT_ALLOWED, False),
    Row("subject in capitals", token(sub="Ada"), F.PRINCIPAL_NOT_ALLOWED, False),
    Row("nobody", token(sub=None, client_id=None), F.PRINCIPAL_NOT_ALLOWED, False),
    Row(
        "subject a list",
        glued({"typ": "at+jwt", "alg": "RS256"}, claims(sub=["ada"])),
        F.PRINCIPAL_NOT_ALLOWED,
        False,
    ),
]

REFUSED_WITH_KEYS = [
    Row("signed by another key", token(OTHER_RSA_KEY), F.BAD_SIGNATURE),
    Row("signature of another token", f"{HEADER}.{part(claims(x=1))}.{SIGNATURE}", F.BAD_SIGNATURE),
    Row("no signature", f"{HEADER}.{CLAIMS}.", F.BAD_SIGNATURE),
    Row("EC signature too short", f"{token(EC_KEY, 'ES256', 'ec')[:-6]}", F.BAD_SIGNATURE),
    Row("key that nobody knows", token(key_id="other"), F.UNKNOWN_KEY),
    Row("empty key id", token(key_id=""), F.UNKNOWN_KEY),
    Row("no keys at all", GOOD, F.UNKNOWN_KEY, True, []),
    Row("no key id, none fits", token(key_id=None), F.UNKNOWN_KEY, True, [KEYS[1]]),
    Row("RS256 by an EC key's id", token(key_id="ec"), F.KEY_MISMATCH),
    Row("ES256 by an RSA key's id", token(EC_KEY, "ES256", "rsa"), F.KEY_MISMATCH),
    Row("EdDSA by an EC key's id", token(ED_KEY, "EdDSA", "ec"), F.KEY_MISMATCH),
    Row("wrong curve", token(EC_KEY, "ES256"), F.KEY_MISMATCH, True, [published(P384_KEY, "rsa")]),
    Row("encryption key", GOOD, F.KEY_MISMATCH, True, [published(RSA_KEY, "rsa", use="enc")]),
    Row("other algorithm", GOOD, F.KEY_MISMATCH, True, [published(RSA_KEY, "rsa", alg="PS256")]),
    Row("signing only", GOOD, F.KEY_MISMATCH, True, [published(RSA_KEY, "rsa", key_ops=["sign"])]),
    Row("private key", GOOD, F.KEY_MISMATCH, True, [private_jwk(RSA_KEY, "rsa")]),
    Row(
        "private EC key",
        token(EC_KEY, "ES256", "e"),
        F.KEY_MISMATCH,
        True,
        [private_jwk(EC_KEY, "e")],
    ),
    Row("symmetric key", GOOD, F.KEY_MISMATCH, True, [{"kty": "oct", "k": "a2V5", "kid": "rsa"}]),
    Row("small key", GOOD, F.KEY_MISMATCH, True, [published(SMALL_RSA_KEY, "rsa")]),
    Row(
        "broken key",
        GOOD,
        F.KEY_MISMATCH,
        True,
        [{"kty": "RSA", "kid": "rsa", "n": "!", "e": "AQAB"}],
    ),
    Row("same id twice", GOOD, F.AMBIGUOUS_KEY, True, [KEYS[0], published(OTHER_RSA_KEY, "rsa")]),
    Row(
        "no key id, two fit",
        token(key_id=None),
        F.AMBIGUOUS_KEY,
        True,
        [*KEYS, published(OTHER_RSA_KEY, "b")],
    ),
    Row(
        "33 keys",
        GOOD,
        F.KEYS_UNAVAILABLE,
        True,
        [published(EC_KEY, str(n)) for n in range(32)] + [KEYS[0]],
    ),
    Row("no scope", token(scope=None), F.MISSING_SCOPE),
    Row("other scope", token(scope="agent:used agent"), F.MISSING_SCOPE),
    Row("scope a list", token(scope=["agent:use"]), F.MISSING_SCOPE),
    Row("forged, without scope", token(OTHER_RSA_KEY, scope=None), F.BAD_SIGNATURE),
]

TABLE = [*ADMITTED, *REFUSED_WITHOUT_ASKING, *REFUSED_WITH_KEYS]
