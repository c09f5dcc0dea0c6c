"""What an endpoint from a file may reach before the user trusts it: no secrets, and no address of the user's network."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from workbench.core.errors import IsolationError

__all__ = ["is_internal", "public_hosts", "service_sha256", "untrusted_error"]

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that a gateway translates to the IPv4 address in their last four bytes. Source: RFC 6052."""


async def public_hosts(name: str, port: int, address: str) -> list[str]:
    """The IP addresses of a host name, IPv4 first.

    Args:
        name: The host name.
        port: The service's port.
        address: The whole URL, for the error.

    Raises:
        IsolationError: One of them is internal.
    """
    infos = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    # Every address counts: a name may resolve to a public and an internal one.
    hosts = list(dict.fromkeys(str(info[4][0]) for info in infos))
    if internal := [host for host in hosts if _is_internal_ip(host)]:
        raise untrusted_error(
            "an imported endpoint would send rows into your own network",
            address,
            f"{name} is {internal[0]}",
        )
    return sorted(hosts, key=lambda host: ":" in host)


def _is_internal_ip(host: str) -> bool:
    """Whether an IP address belongs to this machine or its network: private, loopback, link-local, shared, reserved."""
    ip = ipaddress.ip_address(host)
    if isinstance(ip, ipaddress.IPv6Address):
        # These contain an IPv4 address, which is the one that is reached.
        nat64 = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None
        if (embedded := ip.ipv4_mapped or ip.sixtofour or nat64) is not None:
            return _is_internal_ip(str(embedded))
        if ip.is_site_local:
            return True
    return not ip.is_global or ip.is_multicast


def is_internal(url: str) -> bool:
    """Whether a URL names, without any look-up, an address of this machine or its network."""
    # A dot at the end makes a name absolute; the address is the same.
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        # Parsed by the system, which also accepts 127.1 and 0x7f000001 as the loopback address.
        infos = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return any(_is_internal_ip(str(info[4][0])) for info in infos)


def untrusted_error(message: str, address: str, found: str) -> IsolationError:
    """The error of a service that a file names and the user did not trust."""
    return IsolationError(
        message,
        where=address[:300],
        found=found[:300],
        expected="an endpoint you typed yourself, or one you trust",
        hint="review its url and headers; if you trust them, load it with trust=True: wb.load(path, trust=True) or store.graders.get(key, trust=True)",
    )


def service_sha256(url: Any, headers: Any) -> str:
    """Hash of a service's URL and headers, to which trust is bound; "" if one of them has the wrong type."""
    if not isinstance(url, str) or not isinstance(headers, Mapping):
        return ""
    identity = json.dumps([url, sorted((str(name), str(value)) for name, value in headers.items())])
    return hashlib.sha256(identity.encode()).hexdigest()
