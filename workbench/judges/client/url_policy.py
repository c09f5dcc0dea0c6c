"""How far an endpoint out of a file may reach before somebody trusts it: no secrets, no address of one's own network."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from workbench.errors import IsolationError

__all__ = ["public_hosts", "service_sha256", "stands_inside", "untrusted"]

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""Version 6 addresses that a gateway turns into the version 4 address in their last four bytes."""


async def public_hosts(name: str, port: int, address: str) -> list[str]:
    """The IP addresses behind a name, version 4 first.

    Raises:
        IsolationError: One of them is inside.
    """
    told = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    hosts = list(dict.fromkeys(str(one[4][0]) for one in told))
    if inside := [host for host in hosts if _inside(host)]:
        raise untrusted(
            "an endpoint out of a file would send rows into your own network",
            address,
            f"{name} is {inside[0]}",
        )
    return sorted(hosts, key=lambda host: ":" in host)


def _inside(host: str) -> bool:
    """Whether an IP address is of this machine or its network: private, loopback, link-local, shared, reserved."""
    ip = ipaddress.ip_address(host)
    if isinstance(ip, ipaddress.IPv6Address):
        nat64 = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None
        if (inner := ip.ipv4_mapped or ip.sixtofour or nat64) is not None:
            return _inside(str(inner))
        if ip.is_site_local:
            return True
    return not ip.is_global or ip.is_multicast


def stands_inside(url: str) -> bool:
    """Whether an address names, without any look-up, a place of this machine or its network."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        # The system's own reading, which takes 127.1 and 0x7f000001 for what they are.
        told = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return any(_inside(str(one[4][0])) for one in told)


def untrusted(what: str, where: str, found: str) -> IsolationError:
    """The error of a service that a file names and nobody trusted."""
    return IsolationError(
        what,
        where=where[:300],
        found=found[:300],
        expected="an endpoint you typed yourself, or one you trust",
        hint="look at its url and headers; if you trust them, load it with trust=True: wb.load(path, trust=True) or store.graders.get(key, trust=True)",
    )


def service_sha256(url: Any, headers: Any) -> str:
    """Hash of where a service is and what it is sent besides rows: what trust is bound to; "" for neither."""
    if not isinstance(url, str) or not isinstance(headers, Mapping):
        return ""
    told = json.dumps([url, sorted((str(name), str(value)) for name, value in headers.items())])
    return hashlib.sha256(told.encode()).hexdigest()
