"""What is rendered into a URL does not lead to another server than its author wrote."""

import pytest

from noetl_mcp.playbook.rendering.addresses import kept
from noetl_mcp.playbook.rendering.render import RenderError, compile_text
from noetl_mcp.playbook.rendering.secret import Secret, shown


def rendered(text: str, **names: object) -> object:
    return shown(kept(compile_text(text))(names))


@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("https://host:1{{ x }}", "@evil/a"),
        ("https://host:1{{ x }}", "23"),
        ("https://host{{ x }}", "@evil/"),
        ("https://host{{ x }}", ".evil.example/"),
        ("https://host{{ x }}", ":99/"),
        ("https://host{{ x }}", "\\@evil/"),
        ("https://host{{ x }}", "\t@evil/"),
        ("https://host{{- x }}", "@evil/"),
        ("https://host{{ '/' if no else '' }}{{ x }}", "@evil/"),
        ("https://host{# / #}{{ x }}", "@evil/"),
        ("https://host:{{ x }}", "1@evil"),
        ("https://host:{{ x }}/a", "@evil/"),
        ("https://{{ x }}/a", "evil/b"),
        ("https://{{ x }}/a", "me@evil"),
        ("https://{{ x }}.host.example/", "evil.example/"),
        ("https://{{ x }}.host.example/", "evil.example?"),
        ("https://api.{{ x }}.host.example/", "/"),
        ("https://srv{{ x }}.host.example/", "a.b"),
        ("https://srv{{ x }}.host.example/", "/"),
        ("https://me:{{ x }}@host/", "a@evil/"),
        ("https://me:pw@{{ x }}/", "a@evil"),
        ("http{{ x }}://host/", "://evil/"),
        ("https:{{ x }}", "//evil/"),
        ("https:/{{ x }}", "/evil/"),
        (" https://host{{ x }}", "@evil/"),
        ("{{ 'https' }}://host{{ x }}", "@evil/"),
        ("{{ 'https://host' }}{{ x }}", "@evil/"),
        ("https://host{% if x %}{{ x }}{% endif %}/", "@evil"),
        ("https://{% if x %}{{ x }}{% endif %}/", "me@evil"),
    ],
)
def test_a_value_that_leads_elsewhere_is_refused(text: str, x: str) -> None:
    with pytest.raises(RenderError, match="in the server's part of a URL it gives") as told:
        rendered(text, x=x, no=False)

    assert told.value.code == "bad-url"


@pytest.mark.parametrize(
    ("text", "x", "url"),
    [
        ("{{ x }}", "https://any/where", "https://any/where"),
        ("{{ x }}/a", "https://any:1/where", "https://any:1/where/a"),
        ("{{ x }}{{ '/a' }}", "https://any", "https://any/a"),
        ("{{ x }}{{ '@a' }}", "https://any/", "https://any/@a"),
        ("{{ x }}//{{ '@a' }}", "https://any", "https://any//@a"),
        ("https://host{{ x }}", "/a@b?c", "https://host/a@b?c"),
        ("https://host{{ x }}", "?c", "https://host?c"),
        ("https://host{{ x }}", "", "https://host"),
        ("https://host/{{ x }}", "@evil//b", "https://host/@evil//b"),
        ("https://host?a={{ x }}", "@evil/", "https://host?a=@evil/"),
        ("https://host:{{ x }}/", 8080, "https://host:8080/"),
        ("https://{{ x }}/a", "host", "https://host/a"),
        ("https://{{ x }}/a", "host.example:81", "https://host.example:81/a"),
        ("https://{{ x }}/a", "[::1]:81", "https://[::1]:81/a"),
        ("https://{{ x }}", "host", "https://host"),
        ("https://{{ x }}.host.example/", "eu", "https://eu.host.example/"),
        ("https://api.{{ x }}.host.example/", "eu-1", "https://api.eu-1.host.example/"),
        ("https://srv{{ x }}.host.example/", 3, "https://srv3.host.example/"),
        ("https://me:{{ x }}@host/", "p@:w", "https://me:p@:w@host/"),
        ("http{{ x }}://host/", "s", "https://host/"),
        ("{{ x }}://host/", "https", "https://host/"),
        ("http{% if x %}s{% endif %}://host/", 1, "https://host/"),
        ("{% if x %}https://a{% else %}https://b{% endif %}/", 1, "https://a/"),
        ("https://host/{% for one in x %}{{ one }}{% endfor %}", "@@", "https://host/@@"),
    ],
)
def test_a_value_that_completes_a_url_is_taken(text: str, x: object, url: str) -> None:
    assert rendered(text, x=x) == url


def test_a_refusal_shows_no_secret() -> None:
    with pytest.raises(RenderError, match="it gives a secret that may lead elsewhere") as told:
        rendered("https://host{{ x }}", x=Secret("@evil/hush"))

    assert "hush" not in str(told.value)
