"""Addresses to listen on: who can reach them, and a socket that listens. Answers nobody."""

import ipaddress
import socket


class NotServed(Exception):
    """An address cannot be listened on; the text says why."""


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one."""
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
    except OSError as problem:
        raise NotServed(f"'{host}' is no address here: {problem.strerror}") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(1024)
    except OSError as problem:
        listening.close()
        raise NotServed(f"cannot listen on {host}:{port}: {problem.strerror}") from None
    listening.setblocking(False)
    return listening


__all__ = ["NotServed", "bound", "is_local"]
