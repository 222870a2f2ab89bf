-- What is kept: playbooks and plans, executions and their steps, the queue, and the log.

create table noetl.plan (
    id integer generated always as identity primary key,
    digest text not null unique,
    format integer not null,
    content text not null,
    created_at timestamptz not null default clock_timestamp()
);

-- The steps of a plan by name, for whoever reads the log with SQL.
create table noetl.plan_step (
    plan_id integer not null references noetl.plan (id) on delete cascade,
    idx integer not null,
    name text not null,
    type text not null,
    primary key (plan_id, idx)
);

create table noetl.playbook (
    path text not null,
    version integer not null,
    name text not null,
    plan_id integer not null references noetl.plan (id),
    content text not null,
    content_digest text not null,
    description text,
    created_at timestamptz not null default clock_timestamp(),
    primary key (path, version)
);

create sequence noetl.execution_id cache 1;

-- Not touched by its steps: one row at the start, one change at the end.
-- status: 0 running, 1 completed, 2 failed, 3 cancelled.
-- outcome: what it will end as once its `finally` steps are over; 0 while that is open.
create table noetl.execution (
    id bigint primary key,
    plan_id integer not null,
    status smallint not null default 0,
    outcome smallint not null default 0,
    round integer not null default 1,
    priority smallint not null default 0,
    path text,
    version integer,
    key text,
    payload text,
    pins text,
    labels text,
    parent_execution bigint,
    parent_idx integer,
    parent_item bigint,
    rerun_of bigint,
    on_end text,
    result text,
    error text,
    created_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz
) with (fillfactor = 55);
create unique index execution_key on noetl.execution (key) where key is not null;
create index execution_parent on noetl.execution (parent_execution)
    where parent_execution is not null;

-- Executions that are not over and of which a step was ever parked, tried again or left in doubt:
-- those that wait for something can be counted without looking at all that are queued.
create table noetl.waiting (execution_id bigint primary key);

-- Where a step waits when it is ready: pool and rank, the limits it must not crowd, and whether
-- it writes (0 no, 1 from the lease on, 2 from the moment it says so).
create table noetl.lane (
    id integer generated always as identity primary key,
    pool text not null,
    rank smallint not null,
    limits text[] not null default '{}',
    maxes integer[] not null default '{}',
    writes smallint not null default 0,
    unique (pool, rank, limits, maxes, writes)
);

-- state: 0 waiting, 1 ready, 2 leased, 3 done, 4 failed, 5 skipped, 6 cancelled, 7 dead,
-- 8 retrying, 9 parked, 10 in doubt.
-- waits: how many ways lead here; negative when the first live one is enough. toward: of how many
-- nothing is known yet; live: how many brought control. owner counts only while leased.
create table noetl.step (
    execution_id bigint not null,
    idx integer not null,
    item bigint not null,
    state smallint not null default 0,
    lane integer not null default 0,
    waits integer not null default 0,
    toward integer not null default 0,
    live integer not null default 0,
    lease integer not null default 0,
    attempt integer not null default 0,
    crashes smallint not null default 0,
    alone boolean not null default false,
    before smallint not null default 0,
    owner bigint,
    ready_at timestamptz,
    leased_at timestamptz,
    ended_at timestamptz,
    result text,
    error text,
    extra text,
    note text,
    answer text,
    primary key (execution_id, idx, item)
) with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.05,
        autovacuum_vacuum_insert_scale_factor = 0.5);

-- What may be leased. A row is a hint: leasing asks the step.
create table noetl.ready (
    id bigint generated always as identity,
    pool text not null,
    rank smallint not null,
    execution_id bigint not null,
    idx integer not null,
    item bigint not null
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
create unique index ready_order on noetl.ready (pool, rank, id);
create index ready_of on noetl.ready (execution_id);

create table noetl.timer (
    id bigint generated always as identity primary key,
    due timestamptz not null,
    execution_id bigint not null,
    idx integer not null,
    item bigint not null,
    lane integer not null default 0
);
create index timer_due on noetl.timer (due);

-- Executions that must not go on: 1 paused, 2 failing, 3 cancelled. Nearly always empty.
create table noetl.halt (
    execution_id bigint primary key,
    kind smallint not null,
    reason text,
    said_by text,
    at timestamptz not null default clock_timestamp()
);

-- The window of an iterator: items are handed out from `next` on; `live` ones are not over.
create table noetl.fan (
    execution_id bigint not null,
    idx integer not null,
    item bigint not null,
    total integer not null,
    next integer not null,
    live integer not null,
    failed integer not null default 0,
    tolerate integer not null,
    entries integer[] not null,
    lanes integer[] not null,
    closed boolean not null default false,
    primary key (execution_id, idx, item)
) with (fillfactor = 50);

-- Where something a parked step waits for (a child's end, an approval, an answer) and the step
-- itself meet, whichever comes first.
create table noetl.signal (
    execution_id bigint not null,
    idx integer not null,
    item bigint not null,
    waits boolean not null default false,
    lane integer not null default 0,
    token text,
    arrived text,
    arrived_at timestamptz,
    said_by text,
    primary key (execution_id, idx, item)
);

create table noetl.permit (
    name text not null,
    execution_id bigint not null,
    idx integer not null,
    item bigint not null,
    worker bigint not null,
    primary key (name, execution_id, idx, item)
);
create table noetl.permit_lock (name text primary key);

create table noetl.payload (
    digest text primary key,
    content text not null,
    created_at timestamptz not null default clock_timestamp()
);
alter table noetl.payload alter column content set storage extended;

create sequence noetl.worker_id cache 1;

create table noetl.worker (
    id bigint primary key default nextval('noetl.worker_id'),
    epoch bigint not null,
    beat bigint not null default 0,
    asleep boolean not null default false,
    plan_format integer not null,
    pools text[] not null,
    host text not null,
    boot text not null,
    pid integer not null,
    life text,
    name text,
    started_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp(),
    gone_at timestamptz,
    held_from bigint not null default 0
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 200);

-- Which steps a worker may hold: a row for each flush that leased some, gathered into one with
-- every beat. Where the steps of a dead worker are looked for; rows before `worker.held_from` are
-- past, and are not read however long somebody keeps them from being cleaned up.
create table noetl.held (
    worker bigint not null,
    id bigint generated always as identity,
    execs bigint[] not null,
    idxs integer[] not null,
    items bigint[] not null,
    primary key (worker, id)
) with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
alter table noetl.held alter column execs set storage external,
    alter column idxs set storage external, alter column items set storage external;

create sequence noetl.event_id cache 1;

create table noetl.event (
    id bigint not null default nextval('noetl.event_id'),
    ts timestamptz not null default clock_timestamp(),
    kind smallint not null,
    attempt integer,
    idx integer,
    execution_id bigint not null,
    item bigint,
    worker bigint,
    ready_at timestamptz,
    leased_at timestamptz,
    data text
) partition by range (ts);
create index event_of on noetl.event (execution_id, id);
create table noetl.event_default partition of noetl.event default;

create table noetl.credential (
    name text primary key,
    type text not null,
    sealed bytea not null,
    key_id text not null,
    updated_at timestamptz not null default clock_timestamp()
);

create table noetl.audit (
    id bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    who text not null,
    whence text not null,
    action text not null,
    target text,
    keys text[] not null default '{}',
    reason text,
    outcome text
);

create table noetl.token (
    id integer generated always as identity primary key,
    name text not null unique,
    role text not null,
    digest text not null unique,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz
);

-- What the numbers in `event.kind` mean.
create table noetl.event_kind (kind smallint primary key, name text not null unique);
insert into noetl.event_kind (kind, name) values
    (1, 'execution_started'), (2, 'execution_completed'), (3, 'execution_failed'),
    (4, 'execution_cancelled'), (5, 'execution_paused'), (6, 'execution_resumed'),
    (7, 'execution_retried'), (10, 'step_started'), (11, 'action_started'),
    (12, 'action_completed'), (13, 'action_error'), (14, 'action_retry'), (15, 'step_completed'),
    (16, 'step_failed'), (17, 'step_skipped'), (18, 'step_cancelled'), (19, 'step_parked'),
    (20, 'step_resumed'), (21, 'step_in_doubt'), (22, 'step_resolved'), (23, 'step_dead'),
    (24, 'lease_lost'), (25, 'loop_iteration'), (26, 'loop_completed'), (27, 'gate_refused'),
    (28, 'approval_requested'), (29, 'approval_given'), (30, 'save_completed'),
    (31, 'tool_called'), (32, 'tool_answered'), (33, 'model_called'), (34, 'model_answered'),
    (35, 'log');

-- A secret of this database, from which tokens of callbacks and approvals are derived.
create table noetl.seal (one boolean primary key default true check (one), secret bytea not null);
insert into noetl.seal (secret)
values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
