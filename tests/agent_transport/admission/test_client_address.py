"""Whose address a request counts against, and what a forged header can change about it."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_transport.admission import (
    AddressClass,
    address_class,
    find_client_address,
    parse_proxies,
    throttle_key,
)

PROXIES = parse_proxies(["10.0.0.0/8", "192.0.2.7", "fd00::/8"])


def forwarded(*values: str) -> list[tuple[bytes, bytes]]:
    return [(b"x-forwarded-for", value.encode()) for value in values]


@pytest.mark.parametrize(
    ("peer", "values", "expected"),
    [
        # nobody is believed but a configured proxy
        ("203.0.113.9", [], "203.0.113.9"),
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("127.0.0.1", ["198.51.100.1"], "127.0.0.1"),
        ("10.1.1.1", [], "10.1.1.1"),
        ("10.1.1.1", ["198.51.100.1"], "198.51.100.1"),
        ("192.0.2.7", ["198.51.100.1"], "198.51.100.1"),
        ("192.0.2.8", ["198.51.100.1"], "192.0.2.8"),
        ("fd00::1", ["2001:db8::5"], "2001:db8::5"),
        ("::ffff:10.1.1.1", ["198.51.100.1"], "198.51.100.1"),
        # the right-most hop that is no proxy; what stands left of it is the client's own word
        ("10.1.1.1", ["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
        ("10.1.1.1", ["1.1.1.1, 198.51.100.1, 10.2.2.2"], "198.51.100.1"),
        ("10.1.1.1", ["1.1.1.1", "198.51.100.1"], "198.51.100.1"),
        ("10.1.1.1", ["10.9.9.9, 10.2.2.2"], "10.9.9.9"),
        # ports and brackets, as proxies write them
        ("10.1.1.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.1.1.1", ["[2001:db8::5]:4711"], "2001:db8::5"),
        ("10.1.1.1", ["[2001:db8::5]"], "2001:db8::5"),
        ("10.1.1.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
        # what is no address ends the search at the last proxy
        ("10.1.1.1", ["198.51.100.1, unknown"], "10.1.1.1"),
        ("10.1.1.1", ["198.51.100.1, unknown, 10.2.2.2"], "10.2.2.2"),
        ("10.1.1.1", [""], "10.1.1.1"),
        ("10.1.1.1", ["198.51.100.1,"], "10.1.1.1"),
    ],
)
def test_client_is_the_nearest_hop_that_is_no_proxy(
    peer: str, values: list[str], expected: str
) -> None:
    assert find_client_address(peer, forwarded(*values), PROXIES) == ip_address(expected)


@pytest.mark.parametrize("peer", [None, "", "/run/some.sock"])
def test_socket_without_an_address_gives_none(peer: str | None) -> None:
    assert find_client_address(peer, forwarded("198.51.100.1"), PROXIES) is None


def test_list_of_ten_thousand_hops_is_not_walked() -> None:
    hops = ", ".join(["198.51.100.1"] + ["10.2.2.2"] * 10_000)
    assert find_client_address("10.1.1.1", forwarded(hops), PROXIES) == ip_address("10.2.2.2")


@given(st.binary(max_size=80))
def test_no_header_moves_a_peer_that_is_no_proxy(value: bytes) -> None:
    found = find_client_address("203.0.113.9", [(b"x-forwarded-for", value)], PROXIES)
    assert found == ip_address("203.0.113.9")


@given(st.binary(max_size=80))
def test_any_bytes_behind_a_proxy_give_an_address(value: bytes) -> None:
    assert find_client_address("10.1.1.1", [(b"x-forwarded-for", value)], PROXIES) is not None


@given(st.binary(max_size=40))
def test_left_most_hops_change_nothing(forged: bytes) -> None:
    value = forged + b", 198.51.100.1"
    found = find_client_address("10.1.1.1", [(b"x-forwarded-for", value)], PROXIES)
    assert found == ip_address("198.51.100.1")


@pytest.mark.parametrize("text", ["proxy.example", "10.0.0.1/8", "10.0.0.0/33", "", "*"])
def test_proxy_that_is_no_literal_address_or_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"network|address|bits|IPv4"):
        parse_proxies([text])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("127.0.0.1", AddressClass.LOOPBACK),
        ("127.9.9.9", AddressClass.LOOPBACK),
        ("::1", AddressClass.LOOPBACK),
        ("10.0.0.1", AddressClass.PRIVATE),
        ("192.168.1.1", AddressClass.PRIVATE),
        ("169.254.169.254", AddressClass.PRIVATE),
        ("100.64.0.1", AddressClass.PRIVATE),
        ("fd00::1", AddressClass.PRIVATE),
        ("fe80::1", AddressClass.PRIVATE),
        ("0.0.0.0", AddressClass.PRIVATE),
        ("8.8.8.8", AddressClass.PUBLIC),
        ("2606:4700::1111", AddressClass.PUBLIC),
    ],
)
def test_address_has_one_class(text: str, kind: AddressClass) -> None:
    assert address_class(ip_address(text)) is kind


def test_absent_address_is_of_unknown_class() -> None:
    assert address_class(None) is AddressClass.UNKNOWN


def test_failures_of_one_ipv6_site_count_together_and_ipv4_hosts_apart() -> None:
    def key(text: str) -> str:
        return throttle_key(ip_address(text))

    assert key("2001:db8:1:1::1") == key("2001:db8:1:1:ffff::2")
    assert key("2001:db8:1:1::1") != key("2001:db8:1:2::1")
    assert key("198.51.100.1") != key("198.51.100.2")
    assert throttle_key(None) not in {key("198.51.100.1"), key("::")}
