"""Write SVG text and attributes safely. It refuses to let any text become markup."""

from xml.sax.saxutils import escape, quoteattr

from noetl_mcp.lettering.fitted import printable

FONT = "'Noto Sans','Segoe UI','Helvetica Neue',Arial,sans-serif"


def number(value: float) -> str:
    """Write a coordinate, to a tenth."""
    return f"{round(value, 1):g}" if abs(value) < 100_000 else f"{value:.0f}"


def point(x: float, y: float) -> str:
    """Write a point."""
    return f"{number(x)},{number(y)}"


def element(tag: str, content: str = "", **attributes: str | float) -> str:
    """Write an element; `content` is markup already, attribute values are escaped here."""
    written = "".join(
        f" {name.rstrip('_').replace('_', '-')}={_quoted(value)}"
        for name, value in attributes.items()
    )
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def _quoted(value: str | float) -> str:
    return quoteattr(printable(value)) if isinstance(value, str) else f'"{number(value)}"'


def words(text: str) -> str:
    """Write text content."""
    return escape(printable(text))


def line_of(
    text: str,
    x: float,
    y: float,
    size: float,
    *,
    fill: str,
    class_: str,
    bold: bool = False,
    anchor: str = "start",
) -> str:
    """Write one line of text at a baseline."""
    extra: dict[str, str] = {"font_weight": "bold"} if bold else {}
    if anchor != "start":
        extra["text_anchor"] = anchor
    return element("text", words(text), x=x, y=y, font_size=size, fill=fill, class_=class_, **extra)
