-- The life of executions and workers around the hot path.

-- What the log tells of an execution that starts.
create function noetl.started_1(plan integer, path text, version integer, payload text, key text,
                                parent bigint, rerun_of bigint, told text) returns text
language sql stable as $$
    select '{' || concat_ws(',', '"plan":' || plan, '"path":' || to_json(path),
        '"version":' || version,
        case when told is not null then '"payload":' || told
             when payload like '@%' then '"payload_ref":"' || substr(payload, 2) || '"'
             else '"payload":' || payload end,
        '"key":' || to_json(key), '"parent":' || parent, '"rerun_of":' || rerun_of) || '}'
$$;

-- Start executions, each with the steps that its plan begins with. A key starts one execution for
-- ever: the second start gives the first one's number. `p_told` is what the log says instead of a
-- payload that holds secrets. What no execution has is null. Its plans are kept, and go by indexes
-- however small the tables were.
create function noetl.start_1(
    p_plan integer[], p_payload text[], p_key text[], p_priority smallint[], p_path text[],
    p_version integer[], p_labels text[], p_pins text[], p_parent_execution bigint[],
    p_parent_idx integer[], p_parent_item bigint[], p_rerun_of bigint[], p_on_end text[],
    p_timeout double precision[], p_over boolean[], p_result text[], p_told text[],
    s_of integer[], s_idx integer[], s_state smallint[], s_lane integer[], s_waits integer[],
    s_toward integer[], s_live integer[], s_result text[], s_extra text[],
    out ids bigint[], out fresh boolean[]
) language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off
as $$
declare
    v_now timestamptz := clock_timestamp();
    v_made bigint[];
begin
    ids := array(select nextval('noetl.execution_id')
                   from generate_series(1, cardinality(p_plan)));
    with made as (
        insert into noetl.execution (id, plan_id, payload, key, priority, path, version, labels,
            pins, parent_execution, parent_idx, parent_item, rerun_of, on_end, status, result,
            created_at, ended_at)
        select ids[x.o], x.plan, x.payload, x.key, coalesce(x.priority, 0), x.path, x.version,
               x.labels, x.pins,
               x.parent_execution, x.parent_idx, x.parent_item, x.rerun_of, x.on_end,
               coalesce(x.over, false)::integer, case when x.over then x.result end, v_now,
               case when x.over then v_now end
          from unnest(p_plan, p_payload, p_key, p_priority, p_path, p_version, p_labels, p_pins,
                      p_parent_execution, p_parent_idx, p_parent_item, p_rerun_of, p_on_end,
                      p_over, p_result)
               with ordinality as x (plan, payload, key, priority, path, version, labels, pins,
                   parent_execution, parent_idx, parent_item, rerun_of, on_end, over, result, o)
        on conflict (key) where key is not null do nothing
        returning id)
    select coalesce(array_agg(id), '{}') into v_made from made;
    if p_key is not null then
        fresh := array(select i = any (v_made) from unnest(ids) with ordinality as x (i, o)
                        order by o);
        ids := array(select case when fresh[x.o] then ids[x.o]
                                 else (select e.id from noetl.execution e where e.key = x.key) end
                       from unnest(p_key) with ordinality as x (key, o) order by x.o);
    else
        fresh := array_fill(true, array[cardinality(ids)]);
    end if;
    insert into noetl.step (execution_id, idx, item, state, lane, waits, toward, live, result,
                            extra, ready_at, ended_at)
    select ids[s.of], s.idx, 0, s.state, s.lane, s.waits, s.toward, s.live, s.result, s.extra,
           case when s.state > 0 then v_now end, case when s.state > 1 then v_now end
      from unnest(s_of, s_idx, s_state, s_lane, s_waits, s_toward, s_live, s_result, s_extra)
           as s (of, idx, state, lane, waits, toward, live, result, extra)
     where fresh[s.of];
    if p_over is null and not s_state && '{3,5}' then
        insert into noetl.event (kind, execution_id, data)
        select 1, ids[e.o],
               noetl.started_1(e.plan, e.path, e.version, e.payload, e.key, e.parent, e.rerun_of,
                               e.told)
          from unnest(p_plan, p_path, p_version, p_payload, p_key, p_parent_execution,
                      p_rerun_of, p_told) with ordinality
               as e (plan, path, version, payload, key, parent, rerun_of, told, o)
         where fresh[e.o];
    else
    insert into noetl.event (kind, execution_id, idx, item, data)
    select x.kind, x.id, x.idx, case when x.idx is not null then 0 end, x.data
      from (select 1::smallint as kind, ids[e.o] as id, null::integer as idx, e.o as o, 0 as n,
                   noetl.started_1(e.plan, e.path, e.version, e.payload, e.key,
                                   e.parent_execution, e.rerun_of, e.told) as data
              from unnest(p_plan, p_path, p_version, p_payload, p_key, p_parent_execution,
                          p_rerun_of, p_told) with ordinality
                   as e (plan, path, version, payload, key, parent_execution, rerun_of, told, o)
             where fresh[e.o]
            union all
            select case s.state when 5 then 17 else 15 end::smallint, ids[s.of], s.idx, s.of, 1,
                   noetl.told_1(s.result, null, s.extra, null, null, null)
              from unnest(s_of, s_idx, s_state, s_result, s_extra)
                   as s (of, idx, state, result, extra)
             where s.state in (3, 5) and fresh[s.of]
            union all
            select 2::smallint, ids[e.o], null, e.o, 2,
                   noetl.told_1(e.result, null, null, null, null, null)
              from unnest(p_over, p_result) with ordinality as e (over, result, o)
             where e.over and fresh[e.o]
             order by 4, 5) x;
    end if;
    insert into noetl.ready (pool, rank, execution_id, idx, item)
    select l.pool, l.rank, ids[s.of], s.idx, 0
      from unnest(s_of, s_idx, s_state, s_lane) as s (of, idx, state, lane)
      join noetl.lane l on l.id = s.lane
     where s.state = 1 and fresh[s.of]
     order by s.of;
    if p_timeout is not null then
        insert into noetl.timer (due, execution_id, idx, item)
        select v_now + make_interval(secs => t.timeout), ids[t.o], -1, 0
          from unnest(p_timeout) with ordinality as t (timeout, o)
         where t.timeout is not null and fresh[t.o];
    end if;
    if cardinality(array_remove(p_on_end, null)) > 0 then
        insert into noetl.end_call (execution_id, round, url)
        select ids[x.o], 1, x.url from unnest(p_on_end) with ordinality as x (url, o)
         where x.url is not null and fresh[x.o];
        if noetl.ended_1(ids) > 0 then
            perform pg_notify('noetl_halt', 'on_end');
        end if;
    end if;
    perform noetl.wake_1(0, cardinality(ids));
end $$;

-- What a worker holds, asked when the answer of a flush was lost.
create function noetl.held_1(p_worker bigint)
returns table (exec bigint, idx integer, item bigint, lease integer, attempt integer,
               crashes integer, live integer, before smallint, lane integer, note text, answer text)
language sql stable as $$
    select s.execution_id, s.idx, s.item, s.lease, s.attempt, s.crashes::integer, s.live, s.before,
           s.lane, s.note, s.answer
      from (select distinct k.* from noetl.worker w
              join noetl.held h on h.worker = w.id and h.id >= w.held_from
             cross join lateral unnest(h.execs, h.idxs, h.items) as k (exec, idx, item)
             where w.id = p_worker) k
     cross join lateral (select * from noetl.step s
                          where s.execution_id = k.exec and s.idx = k.idx and s.item = k.item
                            and s.state = 2 and s.owner = p_worker offset 0) s
$$;

-- First half of giving a worker up: nobody else does it, and its flushes are fenced from here on.
-- Its steps are looked for by another statement, which sees what its last flush leased.
create function noetl.give_up_1(p_worker bigint, p_beat bigint) returns boolean
language plpgsql as $$
begin
    perform from noetl.worker
      where id = p_worker and (p_beat is null or beat = p_beat) for update skip locked;
    if not found then
        return false;
    end if;
    update noetl.worker set gone_at = coalesce(gone_at, clock_timestamp()), asleep = false,
           epoch = case when gone_at is null then -abs(epoch) - 1 else epoch end
     where id = p_worker;
    return true;
end $$;

-- Second half: hand its steps back. What only reads is ready again; a write is resumed by its note
-- (its remote job runs on, so it keeps its permits and waits where none is asked for) or is in
-- doubt. A step that took two workers with it is done alone, and alone it may be buried.
create function noetl.recover_1(p_worker bigint) returns integer language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_count integer;
begin
    -- One after the other: the second finds nothing, and frees no permit of a step in doubt.
    perform from noetl.worker where id = p_worker and gone_at is not null for update;
    if not found then
        return 0;
    end if;
    with mine as materialized (
        select s.execution_id, s.idx, s.item, s.lease, s.attempt, s.alone, s.crashes, s.note,
               s.answer,
               case when s.answer is not null then 1
                    when l.writes = 0 or s.live = 0 then 1
                    when s.note like '{"armed"%' then 10
                    when s.note like '{"remembered"%' or l.writes in (2, 3, 4) then 1
                    else 10 end::smallint as becomes,
               l.pool, l.rank, l.writes,
               (select n.name from noetl.execution e
                  join noetl.plan_step n on n.plan_id = e.plan_id and n.idx = s.idx
                 where e.id = s.execution_id) as name
          from (select exec, idx, item from noetl.held_1(p_worker) order by 1, 2, 3) h
         cross join lateral (select * from noetl.step s
                              where s.execution_id = h.exec and s.idx = h.idx and s.item = h.item
                             offset 0 for update) s
          join noetl.lane l on l.id = s.lane),
    judged as (
        select m.*, case when m.becomes = 1 and m.alone and m.crashes >= 2 then 7::smallint
                         else m.becomes end as state,
               m.becomes = 1 and m.answer is null and m.writes > 0
                   and coalesce(m.note like '{"remembered"%', false) as runs_on
          from mine m),
    put as (
        insert into noetl.step as s (execution_id, idx, item, state, error)
        select j.execution_id, j.idx, j.item, j.state,
               case when j.state in (7, 10) then json_build_object(
                    'code', case j.state when 7 then 'poison' else 'worker-lost' end,
                    'message', case j.state when 7 then 'it ended every worker that ran it'
                                            else 'the worker that ran it is gone' end,
                    'step', j.name, 'attempt', j.attempt)::text end
          from judged j
        on conflict (execution_id, idx, item) do update
           set state = excluded.state, crashes = s.crashes + 1, error = excluded.error,
               ended_at = case when excluded.state = 7 then v_now end
         where s.state = 2 and s.owner = p_worker
        returning s.execution_id, s.idx, s.item, s.state, s.crashes, s.attempt, s.error),
    queued as (
        insert into noetl.ready (pool, rank, execution_id, idx, item)
        select case when p.crashes >= 2 then '!alone' else '' end
                   || case when j.runs_on then split_part(j.pool, '@', -1) else j.pool end,
               j.rank, p.execution_id, p.idx, p.item
          from put p join judged j using (execution_id, idx, item)
         where p.state = 1),
    stopped as (
        insert into noetl.halt (execution_id, kind, reason)
        select distinct on (p.execution_id) p.execution_id, 2::smallint,
               p.error
          from put p where p.state = 7
        on conflict (execution_id) do update
           set kind = excluded.kind, reason = excluded.reason
         where noetl.halt.kind < excluded.kind),
    waiting as (
        insert into noetl.waiting (execution_id)
        select p.execution_id from put p where p.state = 10 on conflict do nothing),
    freed as (
        delete from noetl.permit x
         where (x.execution_id, x.idx, x.item) in (
                   select p.execution_id, p.idx, p.item
                     from put p join judged j using (execution_id, idx, item)
                    where p.state = 7 or (p.state = 1 and not j.runs_on))),
    logged as (
        insert into noetl.event (kind, execution_id, idx, item, attempt, worker, data)
        select e.kind, p.execution_id, p.idx, p.item, p.attempt, p_worker,
               case when e.kind = 24 then '{"lost":true}' else '{"error":' || p.error || '}' end
          from put p
         cross join lateral (values (24::smallint),
                (case p.state when 10 then 21 when 7 then 23 end::smallint)) as e (kind)
         where e.kind is not null)
    select count(*) into v_count from put;
    delete from noetl.held where worker = p_worker;
    delete from noetl.worker where id = p_worker and gone_at is not null;
    if v_count > 0 then
        perform noetl.wake_1(0, v_count);
    end if;
    return v_count;
end $$;

-- What a worker that was given up still knows: a body has answered, or (without an answer) nothing
-- was sent. That ends a doubt under the very lease that it had, and changes nothing else.
create function noetl.report_1(p_worker bigint, p_exec bigint[], p_idx integer[], p_item bigint[],
                               p_lease integer[], p_answer text[]) returns integer
language plpgsql as $$
declare
    v_count integer;
begin
    with known as (
        select k.exec, k.idx, k.item, k.lease, k.answer
          from unnest(p_exec, p_idx, p_item, p_lease, p_answer)
               as k (exec, idx, item, lease, answer)
         where exists (select from noetl.step s
                        where s.execution_id = k.exec and s.idx = k.idx and s.item = k.item
                          and s.state = 10)
         order by k.exec, k.idx, k.item),
    put as (
        insert into noetl.step as s (execution_id, idx, item, state, lease, answer)
        select k.exec, k.idx, k.item, 1, k.lease, k.answer from known k
        on conflict (execution_id, idx, item) do update
           set state = 1, answer = excluded.answer, error = null, owner = null,
               ready_at = clock_timestamp()
         where s.state = 10 and s.owner = p_worker and s.lease = excluded.lease
        returning s.execution_id, s.idx, s.item, s.lane, s.attempt, s.lease, s.answer),
    freed as (
        delete from noetl.permit x
         where (x.execution_id, x.idx, x.item) in (
                   select p.execution_id, p.idx, p.item from put p)),
    queued as (
        insert into noetl.ready (pool, rank, execution_id, idx, item)
        select l.pool, l.rank, p.execution_id, p.idx, p.item
          from put p join noetl.lane l on l.id = p.lane),
    logged as (
        insert into noetl.event (kind, execution_id, idx, item, attempt, worker, data)
        select 22, p.execution_id, p.idx, p.item, p.attempt, p_worker,
               '{' || concat_ws(',', '"how":' || case when p.answer is null then '"not sent"'
                                                      else '"answered"' end,
                   '"state":1', '"lease":' || p.lease,
                   case when p.answer like '@%' then '"answer_ref":"' || substr(p.answer, 2) || '"'
                        else '"answer":' || p.answer end) || '}'
          from put p)
    select count(*) into v_count from put;
    if v_count > 0 then
        perform noetl.wake_1(0, v_count);
    end if;
    return v_count;
end $$;

-- Whether something of an execution is leased, in doubt, or parked on a child that runs. A step
-- whose child is over stays parked: nothing of a halted execution is leased.
create function noetl.moves_1(p_exec bigint) returns boolean language sql as $$
    select exists (select from noetl.step s
                    where s.execution_id = p_exec
                      and (s.state in (2, 10)
                           or s.state = 9 and s.note like '{"child"%'
                              and exists (select from noetl.execution c
                                           where c.parent_execution = p_exec
                                             and c.parent_idx = s.idx
                                             and c.parent_item = s.item and c.status = 0)))
$$;

-- End a halted execution, or begin its `finally` steps, once nothing of it can still move.
-- Called again and again until it says that it is over.
create function noetl.close_1(p_exec bigint, f_idx integer[], f_lane integer[],
                              out said text, out parent bigint)
language plpgsql as $$
declare
    v_x noetl.execution;
    v_halt noetl.halt;
    v_now timestamptz := clock_timestamp();
begin
    select * into v_x from noetl.execution where id = p_exec for update;
    select * into v_halt from noetl.halt where execution_id = p_exec for update;
    parent := v_x.parent_execution;
    if v_x.id is null or v_x.status <> 0 then
        delete from noetl.halt where execution_id = p_exec;
        said := 'over';
        return;
    end if;
    if v_halt.kind is null or v_halt.kind = 1 then
        said := 'running';
        return;
    end if;
    if noetl.moves_1(p_exec) then
        said := 'busy';
        return;
    end if;
    -- Who asked for a lease before the halt may be granted it now: such a flush is waited for, and
    -- the question is asked again by a statement that sees what it did.
    perform from noetl.step s where s.execution_id = p_exec and s.state in (1, 8, 9)
      order by s.idx, s.item for update;
    if noetl.moves_1(p_exec) then
        said := 'busy';
        return;
    end if;
    with swept as (
        update noetl.step s set state = 6, ended_at = v_now
         where s.execution_id = p_exec and s.state in (1, 8, 9)
        returning s.idx, s.item, s.attempt)
    insert into noetl.event (kind, execution_id, idx, item, attempt)
    select 18, p_exec, swept.idx, swept.item, swept.attempt from swept order by 3, 4;
    delete from noetl.permit where execution_id = p_exec;
    delete from noetl.ready where execution_id = p_exec;
    if v_x.outcome = 0 and cardinality(f_idx) > 0
            and not exists (select from noetl.step s where s.execution_id = p_exec
                               and s.idx = any (f_idx) and s.item = 0 and s.state > 0) then
        update noetl.execution set outcome = v_halt.kind, error = v_halt.reason where id = p_exec;
        delete from noetl.halt where execution_id = p_exec;
        insert into noetl.step (execution_id, idx, item, state, lane, live, ready_at)
        select p_exec, f.idx, 0, 1, f.lane, 1, v_now from unnest(f_idx, f_lane) as f (idx, lane)
        on conflict (execution_id, idx, item) do update
           set state = 1, live = 1, ready_at = v_now;
        insert into noetl.ready (pool, rank, execution_id, idx, item)
        select l.pool, l.rank, p_exec, f.idx, 0
          from unnest(f_idx, f_lane) as f (idx, lane) join noetl.lane l on l.id = f.lane;
        perform noetl.wake_1(0, 1);
        said := 'finally';
        return;
    end if;
    update noetl.execution
       set status = case when outcome <> 0 then outcome else v_halt.kind end,
           error = coalesce(error, v_halt.reason), outcome = 0, ended_at = v_now
     where id = p_exec
    returning * into v_x;
    insert into noetl.event (kind, execution_id, data)
    values (1 + v_x.status, p_exec, noetl.told_1(null, v_x.error, null, null, null, null));
    delete from noetl.halt where execution_id = p_exec;
    delete from noetl.waiting where execution_id = p_exec;
    if exists (select from noetl.end_call) and noetl.ended_1(array[p_exec]) > 0 then
        perform pg_notify('noetl_halt', 'on_end');
    end if;
    if v_x.parent_execution is not null then
        if noetl.meet_1(array[v_x.parent_execution], array[v_x.parent_idx],
                        array[v_x.parent_item], array['{"child":' || p_exec || '}'], null,
                        '{}', '{}', '{}', '{}', '{}') > 0 then
            perform noetl.wake_1(0, 1);
        end if;
    end if;
    said := 'over';
end $$;
