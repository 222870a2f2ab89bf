"""`run PATH | FILE`: start a playbook, watch it, and work on it here when no worker is up."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from noetl_mcp.broker.typed import typed
from noetl_mcp.cli.columns import echo
from noetl_mcp.cli.connecting import opened_home

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noetl_mcp.assembly import Home
    from noetl_mcp.compiler.payload import Problem
    from noetl_mcp.compiler.plan import Plan
    from noetl_mcp.decks import Deck
    from noetl_mcp.playbook.load import Loaded
    from noetl_mcp.starting import Order, Started

_MOST_VERSION = 2**31 - 1
_FILES = (".yaml", ".yml", ".json")


@click.command("run")
@click.argument("playbook", metavar="PATH|FILE")
@click.option("--set", "sets", multiple=True, metavar="K=V", help="A value; K:=JSON is JSON.")
@click.option("--payload", metavar="FILE", help="Values in JSON or YAML; '-' is standard input.")
@click.option(
    "--version", type=click.IntRange(1, _MOST_VERSION), help="Which version of PATH; latest else."
)
@click.option("--id", "key", metavar="KEY", help="The same key always gives the same execution.")
@click.option("--dry-run", is_flag=True, help="Do what only reads, and send no write.")
@click.option("--detach", is_flag=True, help="Start it and do not wait.")
@click.option("--inline", is_flag=True, help="Work here, although workers are up.")
@click.option("--priority", type=click.IntRange(-100, 100), default=0, help="Sooner when higher.")
@click.option("--label", "labels", multiple=True, metavar="K=V", help="To find it by.")
@click.option("--record-to", metavar="F", help="Write what it asks outside, and the answers, to F.")
@click.option("--play-back", metavar="F", help="Take every answer from F, and send nothing.")
@click.option("--on-end", metavar="URL", help="Call this address when it has ended.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def command(
    playbook: str,
    sets: tuple[str, ...],
    payload: str | None,
    version: int | None,
    key: str | None,
    dry_run: bool,
    detach: bool,
    inline: bool,
    priority: int,
    labels: tuple[str, ...],
    record_to: str | None,
    play_back: str | None,
    on_end: str | None,
    as_json: bool,
) -> None:
    """Run a playbook: a file, which is submitted first, or a path in the catalog.

    Progress goes to standard error and the result to standard output. When no worker is up, the
    work is done in this process. Exits with 1 when it is refused, fails or is cancelled, and when
    a play back is not what was recorded.
    """
    loaded = _file(playbook, version)
    if playbook == "-" and payload == "-":
        raise click.UsageError("Standard input cannot give both the playbook and the payload.")
    _demand_one_way(dry_run, detach, inline)
    deck = _deck(record_to, play_back, dry_run or detach or priority != 0, on_end)
    order = _order(sets, payload, key, priority, labels, on_end, as_json)
    order = order if deck is None else deck.ordered(order)
    plan = _check(loaded, order, as_json) if loaded is not None else None
    if dry_run:
        from noetl_mcp.cli.dry_running import dry_run as try_it

        raise click.exceptions.Exit(try_it(plan, playbook, version, order, as_json=as_json))
    with opened_home() as home:
        home = home if deck is None else deck.furnished(home)
        started = _start(home, loaded, playbook, version, order, as_json)
        if deck is not None:
            _begin(deck, home, started, order)
        if not started.is_new:
            _tell_it_was_there(started)
        if detach:
            _tell_started(started, as_json)
            return
        from noetl_mcp.cli.waiting import wait_for

        code = wait_for(home, started.id, as_json=as_json, inline=inline, deck=deck)
    raise click.exceptions.Exit(code)


def _demand_one_way(dry_run: bool, detach: bool, inline: bool) -> None:
    if detach and dry_run:
        raise click.UsageError(
            "--dry-run starts nothing, so there is nothing to detach from;"
            " leave one of the two out."
        )
    if detach and inline:
        raise click.UsageError(
            "--inline works here until it is done, and --detach leaves at once;"
            " leave one of the two out."
        )


def _deck(
    record_to: str | None, play_back: str | None, is_elsewhere: bool, on_end: str | None
) -> "Deck | None":
    """Return what the calls go through, if anything."""
    if record_to is None and play_back is None:
        return None
    if record_to is not None and play_back is not None:
        raise click.UsageError("--record-to asks outside, and --play-back does not; choose one.")
    said = "--record-to" if record_to is not None else "--play-back"
    if is_elsewhere:
        raise click.UsageError(
            f"{said} works on the execution here until it is over, so --dry-run, --detach and"
            " --priority have no place beside it."
        )
    if play_back is not None and on_end is not None:
        raise click.UsageError("--on-end calls an address, and --play-back calls nobody.")
    from noetl_mcp.cli.cassettes import deck_of

    return deck_of(record_to, play_back)


def _begin(deck: "Deck", home: "Home", started: "Started", order: "Order") -> None:
    from noetl_mcp.decks import NoDeck

    try:
        deck.begin(home, started, order)
    except NoDeck as problem:
        raise click.ClickException(str(problem)) from None


def _tell_it_was_there(started: "Started") -> None:
    other = "" if started.is_same else " and began with other values"
    echo(f"execution {started.id} has this key{other}; it is not started again", err=True)


def _file(playbook: str, version: int | None) -> "Loaded | None":
    """Return the playbook that a file holds; None for a path in the catalog."""
    is_file = playbook == "-" or Path(playbook).is_file()
    if not is_file and not playbook.endswith(_FILES):
        return None
    if version is not None:
        raise click.UsageError("--version is for a path in the catalog, not for a file.")
    from noetl_mcp.cli.reading import load_argument

    return load_argument(playbook)


def _order(
    sets: tuple[str, ...],
    payload: str | None,
    key: str | None,
    priority: int,
    labels: tuple[str, ...],
    on_end: str | None,
    as_json: bool,
) -> "Order":
    from noetl_mcp.broker.givable import wrong_key, wrong_set
    from noetl_mcp.starting import Order

    wrong = wrong_key(key) if key is not None else None
    if wrong is not None:
        raise click.UsageError(f"--id: a key {wrong}.")
    for one in sets:
        wrong = wrong_set(one)
        if wrong is not None:
            raise click.UsageError(f"--set: '{one[:40]}…' {wrong}.")
    _demand_address(on_end)
    named: dict[str, str] = {}
    for label in labels:
        name, sign, value = label.partition("=")
        if not (sign and name):
            raise click.UsageError(f"--label is K=V, not '{label}'.")
        named[name] = value
    values = _payload(payload, as_json) if payload is not None else {}
    return Order(values, sets, key=key, priority=priority, labels=named, on_end=on_end)


def _demand_address(url: str | None) -> None:
    if url is None:
        return
    from noetl_mcp.broker.end_calls import wrong_address

    wrong = wrong_address(url)
    if wrong is not None:
        raise click.UsageError(f"--on-end: {wrong}.")


def _payload(source: str, as_json: bool) -> dict[str, Any]:
    from noetl_mcp.cli.files import demand_file
    from noetl_mcp.compiler.fitting import MOST_BYTES
    from noetl_mcp.compiler.payload import WrongPayload, read_payload

    demand_file(source)
    try:
        with click.open_file(source, encoding="utf-8") as file:
            return read_payload(file.read(MOST_BYTES + 1))
    except OSError as error:
        raise click.ClickException(f"cannot read '{source}': {error.strerror}") from None
    except UnicodeDecodeError:
        raise click.ClickException(f"'{source}' is not text in UTF-8") from None
    except WrongPayload as problem:
        refuse(problem.problems, as_json)


def _check(loaded: "Loaded", order: "Order", as_json: bool) -> "Plan":
    """Refuse what does not compile, and values that do not fit, before a server is started."""
    from noetl_mcp.compiler.compile import compile_playbook
    from noetl_mcp.compiler.payload import WrongPayload, check_payload
    from noetl_mcp.tasks.registry import known_tasks

    plan = compile_playbook(loaded, known_tasks())
    if plan is None:
        from noetl_mcp.cli.printing import counts, print_report

        if as_json:
            _print_refused([one.as_json() for one in loaded.report])
        else:
            print_report(loaded, err=True)
            said = counts([loaded.report])
            click.echo(f"{loaded.source.file}: {said}; nothing was started", err=True)
        raise click.exceptions.Exit(1)
    if not as_json:
        _tell_warnings(loaded)
    try:
        problems = check_payload(plan.inputs, order.values(plan.inputs))[1]
    except WrongPayload as problem:
        problems = list(problem.problems)
    if problems:
        refuse(problems, as_json)
    return plan


def _tell_warnings(loaded: "Loaded") -> None:
    """Say that there are warnings, and how they are seen; each run would tell all of them anew."""
    count = sum(found.severity == "warning" for found in loaded.report)
    if count:
        said = "1 warning; it is told" if count == 1 else f"{count} warnings; they are told"
        file = loaded.source.file
        click.echo(f"{file}: {said} by: {typed('validate', file)}", err=True)


def _start(
    home: "Home",
    loaded: "Loaded | None",
    path: str,
    version: int | None,
    order: "Order",
    as_json: bool,
) -> "Started":
    from noetl_mcp.broker import starts
    from noetl_mcp.broker.refusals import NotAllowed
    from noetl_mcp.compiler import payload
    from noetl_mcp.starting import NoSuchPlaybook, Starting, awaken

    with home.connect("run") as connection:
        starting = Starting(connection, home.world, guards=home.guards)
        try:
            if loaded is not None:
                started = starting.file_and_start(loaded, order)
            else:
                started = starting.start(starting.find(path, version), [order])[0]
        except (starts.WrongPayload, payload.WrongPayload) as problem:
            refuse(problem.problems, as_json)
        except NotAllowed as problem:
            if as_json:
                told = {"name": "not-allowed", "severity": "error", "message": str(problem)}
                _print_refused([told])
                raise click.exceptions.Exit(1) from None
            raise click.ClickException(f"{problem}; nothing was started") from None
        except NoSuchPlaybook as problem:
            if as_json:
                _print_refused(
                    [{"name": "no-such-playbook", "severity": "error", "message": str(problem)}]
                )
                raise click.exceptions.Exit(1) from None
            what = "it is a folder" if Path(path).is_dir() else "there is no such file either"
            raise click.ClickException(f"{problem}; {what}") from None
    awaken(home.settings.broker, starting.pools)
    return started


def refuse(problems: "Sequence[Problem]", as_json: bool) -> NoReturn:
    """Tell why nothing was started, and leave with 1."""
    if as_json:
        _print_refused([one.as_json() for one in problems])
    else:
        for one in problems:
            echo(f"{one.code}: {one.text}", err=True)
        echo("nothing was started", err=True)
    raise click.exceptions.Exit(1)


def _print_refused(diagnostics: "Sequence[Any]") -> None:
    _print_json({"execution_id": None, "status": "refused", "diagnostics": list(diagnostics)})


def _tell_started(started: "Started", as_json: bool) -> None:
    if as_json:
        _print_json(
            {
                "execution_id": str(started.id),
                "playbook": started.path,
                "version": started.version,
                "status": started.status,
                "is_new": started.is_new,
                "is_same": started.is_same,
            }
        )
        return
    echo(str(started.id))
    if not started.is_new:
        return
    echo(f"started; see how it goes on with: noetl-mcp watch {started.id}", err=True)


def _print_json(value: Any) -> None:
    import orjson  # only here: every other use of the command does without it

    echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
