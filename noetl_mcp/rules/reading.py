"""Rules of reading: what a file must be before it can be a playbook."""

from noetl_mcp.errors import Rule

NOT_TEXT = Rule(
    "NP101", "not-text", "error", "the file is not UTF-8 text: {problem}", "save it as UTF-8"
)
TOO_LARGE = Rule(
    "NP102",
    "too-large",
    "error",
    "the text has {size} characters, at most {most} are read",
    "split it into playbooks that call each other with 'type: playbook'",
)
YAML_SYNTAX = Rule("NP103", "yaml-syntax", "error", "not YAML: {problem}", "{cure}")
STRANGE_CHARACTER = Rule(
    "NP104",
    "strange-character",
    "error",
    "a character stands here that YAML does not allow: {problem}",
    "delete it, or write it as an escape in double quotes",
)
DUPLICATE_KEY = Rule(
    "NP105",
    "duplicate-key",
    "error",
    "the key '{key}' is written twice; it stands in line {first} already",
    "keep one of the two",
)
TOO_DEEP = Rule(
    "NP106", "too-deep", "error", "more than {most} levels inside each other", "flatten the text"
)
TOO_MANY_VALUES = Rule(
    "NP107",
    "too-many-values",
    "error",
    "more than {most} values",
    "split the playbook, or read the data from a file or a database",
)
TOO_MANY_ALIASES = Rule(
    "NP108",
    "too-many-aliases",
    "error",
    "the aliases of this text stand for more than {most} values",
    "write the values out, or read them from a file",
)
RECURSIVE_ALIAS = Rule(
    "NP109",
    "recursive-alias",
    "error",
    "'*{anchor}' stands inside '&{anchor}' itself",
    "move the alias out of the value that it stands for",
)
UNKNOWN_ANCHOR = Rule(
    "NP110",
    "unknown-anchor",
    "error",
    "there is no '&{anchor}' before this '*{anchor}'",
    "define the anchor first, or quote a text that begins with '*'",
)
TAG = Rule(
    "NP111",
    "tag-not-read",
    "error",
    "the tag '{tag}' is not read",
    "remove it; values need no tags",
)
SEVERAL_DOCUMENTS = Rule(
    "NP112",
    "several-documents",
    "error",
    "a second document begins here",
    "keep one playbook in a file",
)
KEY_NOT_TEXT = Rule(
    "NP113", "key-not-text", "error", "a key must be text, not '{text}'", "write 'key: value'"
)
UNQUOTED_TEMPLATE = Rule(
    "NP114",
    "unquoted-template",
    "error",
    "the template '{text}' must stand in quotes here",
    'write "{{{{ … }}}}" with quotes inside [ ] and {{ }}',
)
YES_IS_TEXT = Rule(
    "NP115",
    "yes-is-text",
    "hint",
    "'{text}' is text here, not {meant}",
    "write {meant} if that is meant, or quote it",
)
NOT_A_MAP = Rule(
    "NP116",
    "not-a-playbook",
    "error",
    "a playbook is a map of keys, this is {kind}",
    "start with 'apiVersion: noetl.io/v2', 'kind: Playbook', 'metadata:' …",
)
EMPTY = Rule(
    "NP117",
    "empty-file",
    "error",
    "there is nothing in this file",
    "write a playbook; 'noetl-mcp explain empty-file' shows the smallest",
)
MERGE = Rule(
    "NP118",
    "merge-not-a-map",
    "error",
    "'<<' takes in a map, not {kind}",
    "write '<<: *NAME' with the anchor of a map",
)
CANNOT_READ = Rule(
    "NP119", "cannot-read", "error", "{problem}", "correct the path, or make the file readable"
)
