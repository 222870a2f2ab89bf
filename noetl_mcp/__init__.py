"""A playbook is written, compiled, kept, decided, leased, done and remembered.

The road, in travel order:

    playbook/   1  what is written: YAML text, positions, the validated model
    compiler/   2  what it means: playbook to plan, by named passes
    catalog/    3  where it is kept: submitted playbooks, versions, plans, credentials
    broker/     4  what is next: executions and their steps
    queue/      5  who may do it: leases
    worker/     6  who does it
    tasks/      7  with what: the task types and what each of them may be told
    events/     8  what happened: an append-only log

The faces are cli/, web/, mcp/ and pages/; the toolboxes bim/, recipes/, wire/ and lettering/. Under
all of them lie rules/ (everything that can be wrong, once), `diagnostics` (where it is wrong) and
`errors`. `assembly` builds things, `settings` says how, `database` is the door to Postgres and
embedded/ starts one. Stations that are not there yet are built in this order.
"""

__version__ = "0.1.0.dev0"
