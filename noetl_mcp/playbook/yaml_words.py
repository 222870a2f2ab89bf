"""Say in plain words what the YAML parser stumbled over, and how to mend it."""

import yaml

_CURES = (
    (
        "mapping values are not allowed",
        "a ':' stands where no key can be",
        "quote the text if the ':' belongs to it, or put the key on a line of its own",
    ),
    (
        "could not find expected ':'",
        "this line has no ':'",
        "write 'key: value', or indent the line if it belongs to the text above",
    ),
    (
        "did not find expected key",
        "this does not line up with the keys above",
        "give it the same indentation as the keys it belongs to, and close open quotes",
    ),
    (
        "did not find expected '-' indicator",
        "a list item is expected here",
        "start the line with '- ' at the column of the items above, or indent it further",
    ),
    (
        "did not find expected ',' or ']'",
        "a '[' is not closed",
        "separate the items with ',' and close the list with ']'",
    ),
    (
        "did not find expected ',' or '}'",
        "a '{' is not closed",
        "separate the entries with ',' and close the map with '}'; quote '{{ … }}' inside it, and"
        " use '…' for texts inside \"…\"",
    ),
    (
        "found unexpected end of stream",
        "a quote is opened and never closed",
        "close it, or double the quote that belongs to the text",
    ),
    (
        "found a tab character",
        "a tab is used to indent",
        "indent with spaces only",
    ),
    (
        "found unknown escape character",
        "this escape is not known in double quotes",
        "write '\\\\' for a backslash, or use single quotes",
    ),
    (
        "did not find expected node content",
        "a value is expected here",
        "write the value, or close the bracket",
    ),
    (
        "block sequence entries are not allowed",
        "a '- ' item stands where no list can be",
        "put the list on lines of its own, below its key",
    ),
    (
        "did not find expected <document start>",
        "the text goes on after the document is over",
        "line it up with the keys above",
    ),
    ("found undefined tag handle", "this tag is not known", "remove the '!…'; values need no tags"),
)


_OPENED = (
    "found unexpected end of stream",
    "did not find expected ',' or",
    "could not find expected ':'",
)


def is_better_at_its_opening(error: yaml.YAMLError) -> bool:
    """Whether what was opened tells more than the place where the parser gave up."""
    problem = getattr(error, "problem", None) or ""
    return any(part in problem for part in _OPENED)


def in_plain_words(error: yaml.YAMLError, line: str) -> tuple[str, str]:
    """Return what is wrong and how to mend it."""
    problem = getattr(error, "problem", None) or str(error)
    if "cannot start any token" in problem:
        return _cannot_start(line, getattr(error, "problem_mark", None))
    for part, wrong, cure in _CURES:
        if part in problem:
            return wrong, cure
    return problem, "compare the line with the lines around it"


def _cannot_start(line: str, mark: yaml.Mark | None) -> tuple[str, str]:
    character = line[mark.column : mark.column + 1] if mark is not None else ""
    if "\t" in line[: len(line) - len(line.lstrip())] or character == "\t":
        return "a tab is used to indent", "indent with spaces only"
    return f"no value can start with '{character}'", "put the text in quotes"
