"""Read the body of a request, no more of it than may come. Knows no format."""

from collections.abc import Callable

from starlette.requests import Request

from noetl_mcp.web.faults import Fault


async def body_of(
    request: Request, most: int, came: Callable[[int], None] = lambda size: None
) -> bytes:
    """Return the bytes that were sent, no more than so many; `came` hears how many there are."""
    said = request.headers.get("content-length", "")
    parts, size = list[bytes](), int(said) if said.isdecimal() else 0
    if size <= most:
        size = 0
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            if size > most:
                break
            came(size)
    if size > most:
        raise Fault(413, "too-large", f"the body is too large; at most {most:,} bytes are taken")
    return b"".join(parts)


async def gone(request: Request) -> None:
    """Wait until the client has left; to be called when its body has come."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


__all__ = ["body_of", "gone"]
