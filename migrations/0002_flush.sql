-- The hot path: one call settles steps, unlocks others, leases more and writes the log.
-- The database counts, Python decides. Every row is found by its key, in shapes whose plan cannot
-- flip. A function keeps its name and meaning as long as running code calls it.

-- A worker's steps, as arrays of equal length. `before` is the state they were leased from (0 for
-- those that the worker unlocked itself and so knows all about).
create type noetl.leased_1 as (
    exec bigint[], idx integer[], item bigint[], lease integer[], attempt integer[],
    crashes integer[], live integer[], before smallint[], lane integer[], ready_at timestamptz[],
    plan integer[], payload text[], special boolean[], note text[], answer text[]);

create function noetl.both_1(a noetl.leased_1, b noetl.leased_1) returns noetl.leased_1
language sql immutable as $$
    select (a.exec || b.exec, a.idx || b.idx, a.item || b.item, a.lease || b.lease,
            a.attempt || b.attempt, a.crashes || b.crashes, a.live || b.live,
            a.before || b.before, a.lane || b.lane, a.ready_at || b.ready_at, a.plan || b.plan,
            a.payload || b.payload, a.special || b.special, a.note || b.note,
            a.answer || b.answer)::noetl.leased_1
$$;

-- What an event tells of a settled step.
create function noetl.told_1(result text, error text, extra text, note text, answer text,
                             delay double precision) returns text
language sql stable as $$
    select '{' || concat_ws(',',
        case when result like '@%' then '"result_ref":"' || substr(result, 2) || '"'
             when result is not null then '"result":' || result end,
        '"error":' || error, '"extra":' || extra,
        case when note like '@%' then '"note_ref":"' || substr(note, 2) || '"'
             when note is not null then '"note":' || note end,
        case when answer like '@%' then '"answer_ref":"' || substr(answer, 2) || '"'
             when answer is not null then '"answer":' || answer end,
        '"delay":' || delay) || '}'
$$;

-- Lease what waits in a queue. A row there is a hint: the step is asked. A long payload is left out,
-- for it would come with every step of an execution: who does not have it asks for it once.
create function noetl.take_1(p_worker bigint, p_pool text, p_want integer, p_only bigint[],
                             p_now timestamptz, p_alone boolean, out taken noetl.leased_1)
language plpgsql as $$
declare
    v_rows tid[];
    v_ghosts tid[];
    v_halted bigint[] := '{}';
begin
    if p_only is null then
        v_rows := array(select ctid from noetl.ready where pool = p_pool
                         order by rank, id limit p_want for update skip locked);
    else
        v_rows := array(select ctid from noetl.ready
                         where execution_id = any (p_only) and pool || '' = p_pool
                         order by rank, id limit p_want for update skip locked);
    end if;
    -- What is halted loses its hint, and whoever lifts the halt queues it again. So both lock the
    -- halt; where another has it, nobody knows which of them comes first, and the hint stays.
    if cardinality(v_rows) > 0 and exists (select from noetl.halt) then
        v_halted := array(select h.execution_id from noetl.halt h
                           where h.execution_id = any (array(
                                 select r.execution_id from noetl.ready r
                                  where r.ctid = any (v_rows)))
                             for share skip locked);
        v_rows := array(select r.ctid from noetl.ready r
                         where r.ctid = any (v_rows)
                           and (r.execution_id = any (v_halted)
                                or not exists (select from noetl.halt h
                                                where h.execution_id = r.execution_id)));
    end if;
    if cardinality(v_rows) = 0 then
        return;
    end if;
    with hints as materialized (
        delete from noetl.ready where ctid = any (v_rows)
        returning execution_id, idx, item),
    leased as (
        insert into noetl.step as s (execution_id, idx, item, state, owner)
        select distinct h.execution_id, h.idx, h.item, 11, p_worker
          from hints h
         where not h.execution_id = any (v_halted)
         order by 1, 2, 3
        on conflict (execution_id, idx, item) do update
           set state = 2, before = s.state, owner = p_worker, lease = s.lease + 1,
               attempt = s.attempt + case when s.state = 9 then 0 else 1 end,
               leased_at = p_now, alone = p_alone
         where s.state in (1, 8, 9)
        returning s.ctid, s.execution_id, s.idx, s.item, s.state, s.lease, s.attempt, s.crashes,
                  s.live, s.before, s.lane, s.ready_at, s.note, s.answer)
    select array_agg(l.execution_id), array_agg(l.idx), array_agg(l.item), array_agg(l.lease),
           array_agg(l.attempt), array_agg(l.crashes::integer), array_agg(l.live),
           array_agg(l.before), array_agg(l.lane), array_agg(l.ready_at), array_agg(e.plan_id),
           array_agg(case when octet_length(e.payload) <= 8192 then e.payload end),
           array_agg(e.parent_execution is not null or e.pins is not null or e.round > 1
                     or e.key is not null or e.labels is not null or e.priority <> 0
                     or e.outcome <> 0 or e.on_end is not null),
           array_agg(l.note), array_agg(l.answer),
           (select array_agg(g.ctid) from leased g where g.state = 11)
      into taken.exec, taken.idx, taken.item, taken.lease, taken.attempt, taken.crashes,
           taken.live, taken.before, taken.lane, taken.ready_at, taken.plan, taken.payload,
           taken.special, taken.note, taken.answer, v_ghosts
      from leased l
     cross join lateral (select * from noetl.execution x where x.id = l.execution_id offset 0) e
     where l.state = 2;
    -- A hint may outlive its step; asking for it must not make one.
    if v_ghosts is not null then
        delete from noetl.step where ctid = any (v_ghosts) and state = 11;
    end if;
end $$;

-- Lease what waits for permits, as far as there are some. Names are locked in their order.
create function noetl.take_limited_1(p_worker bigint, p_prefix text, p_pools text[], p_want integer,
                                     p_only bigint[], p_now timestamptz, p_alone boolean,
                                     out taken noetl.leased_1)
language plpgsql as $$
declare
    v_lane record;
    v_free integer;
    v_more noetl.leased_1;
begin
    for v_lane in
        select l.id, l.pool, l.limits, l.maxes from noetl.lane l
         where cardinality(l.limits) > 0 and split_part(l.pool, '@', -1) = any (p_pools)
           and (select true from noetl.ready r where r.pool = p_prefix || l.pool limit 1)
         order by l.limits
    loop
        exit when p_want <= 0;
        insert into noetl.permit_lock (name) select unnest(v_lane.limits) order by 1
        on conflict do nothing;
        perform from noetl.permit_lock where name = any (v_lane.limits) order by name for update;
        select min(m.most - (select count(*) from noetl.permit p where p.name = m.name))
          into v_free
          from unnest(v_lane.limits, v_lane.maxes) as m (name, most);
        continue when v_free <= 0;
        v_more := noetl.take_1(p_worker, p_prefix || v_lane.pool, least(v_free, p_want), p_only,
                               p_now, p_alone);
        continue when v_more.exec is null;
        insert into noetl.permit (name, execution_id, idx, item, worker)
        select m.name, k.exec, k.idx, k.item, p_worker
          from unnest(v_more.exec, v_more.idx, v_more.item) as k (exec, idx, item)
         cross join unnest(v_lane.limits) as m (name)
        on conflict (name, execution_id, idx, item) do update set worker = excluded.worker;
        p_want := p_want - cardinality(v_more.exec);
        taken := case when taken.exec is null then v_more else noetl.both_1(taken, v_more) end;
    end loop;
end $$;

-- Items of an iterator are over: count them and hand the next ones out; under a halt they are
-- ready without a hint.
create function noetl.fan_turn_1(
    p_worker bigint, p_exec bigint, p_idx integer, p_item bigint, p_ended integer,
    p_failed integer, p_lane integer, p_keep integer, p_halted boolean, p_now timestamptz,
    out kept noetl.leased_1, out spilled integer)
language plpgsql as $$
declare
    v_fan noetl.fan;
    v_give integer;
    v_closed boolean;
begin
    spilled := 0;
    select * into v_fan from noetl.fan f
     where f.execution_id = p_exec and f.idx = p_idx and f.item = p_item for update;
    if not found then
        return;
    end if;
    v_closed := v_fan.closed or v_fan.failed + p_failed > v_fan.tolerate;
    v_give := case when v_closed then 0 else least(p_ended, v_fan.total - v_fan.next) end;
    update noetl.fan f
       set live = v_fan.live - p_ended + v_give, next = v_fan.next + v_give,
           failed = v_fan.failed + p_failed, closed = v_closed
     where f.execution_id = p_exec and f.idx = p_idx and f.item = p_item;
    if v_give > 0 then
        with made as (
            insert into noetl.step as s (execution_id, idx, item, lane, waits, live, state, owner,
                                         lease, attempt, ready_at, leased_at)
            select p_exec, n.idx, p_item * 2097152 + g + 1, n.lane, 0, 1,
                   case when n.keep then 2 else 1 end, case when n.keep then p_worker end,
                   n.keep::integer, n.keep::integer, p_now, case when n.keep then p_now end
              from (select g, e.idx, e.lane, not p_halted
                           and row_number() over (order by g, e.idx) <= p_keep as keep
                      from generate_series(v_fan.next, v_fan.next + v_give - 1) g
                     cross join unnest(v_fan.entries, v_fan.lanes) as e (idx, lane)) n
             order by n.idx, g
            on conflict (execution_id, idx, item) do update
               set state = excluded.state, owner = excluded.owner, live = 1, toward = 0,
                   lease = s.lease + excluded.lease, attempt = s.attempt + excluded.attempt,
                   ready_at = p_now, leased_at = excluded.leased_at, result = null, error = null,
                   extra = null
             where s.state = 0
            returning s.execution_id, s.idx, s.item, s.state, s.lane, s.lease, s.attempt),
        queued as (
            insert into noetl.ready (pool, rank, execution_id, idx, item)
            select l.pool, l.rank, m.execution_id, m.idx, m.item
              from made m join noetl.lane l on l.id = m.lane
             where m.state = 1 and not p_halted
            returning 1)
        select array_agg(m.execution_id), array_agg(m.idx), array_agg(m.item),
               array_agg(m.lease), array_agg(m.attempt), array_agg(0), array_agg(1),
               array_agg(0::smallint), array_agg(m.lane), array_agg(p_now),
               array_agg(null::integer), array_agg(null::text), array_agg(false),
               array_agg(null::text), array_agg(null::text), (select count(*) from queued)
          into kept.exec, kept.idx, kept.item, kept.lease, kept.attempt, kept.crashes, kept.live,
               kept.before, kept.lane, kept.ready_at, kept.plan, kept.payload, kept.special,
               kept.note, kept.answer, spilled
          from made m where m.state = 2;
    end if;
    if v_fan.live - p_ended + v_give <= 0
            and (v_closed or v_fan.next + v_give >= v_fan.total) then
        insert into noetl.ready (pool, rank, execution_id, idx, item)
        select l.pool, l.rank, p_exec, p_idx, p_item from noetl.lane l where l.id = p_lane;
        spilled := spilled + 1;
    end if;
end $$;

-- Arrival and parking meet in one row, whichever comes first; both leave a hint.
create function noetl.meet_1(
    g_exec bigint[], g_idx integer[], g_item bigint[], g_text text[], p_by text,
    w_exec bigint[], w_idx integer[], w_item bigint[], w_lane integer[], w_token text[])
returns integer language plpgsql as $$
declare
    v_hints integer := 0;
    v_more integer;
begin
    -- Two statements, for one cannot touch a row twice, and both may be about the same step.
    if cardinality(g_exec) > 0 then
        with came as (
            insert into noetl.signal as s (execution_id, idx, item, arrived, arrived_at, said_by)
            select g.exec, g.idx, g.item, g.told, clock_timestamp(), p_by
              from unnest(g_exec, g_idx, g_item, g_text) as g (exec, idx, item, told)
             order by 1, 2, 3
            on conflict (execution_id, idx, item) do update
               set arrived = excluded.arrived, arrived_at = excluded.arrived_at,
                   said_by = excluded.said_by
             where s.arrived is null
            returning s.execution_id, s.idx, s.item, s.waits, s.lane)
        insert into noetl.ready (pool, rank, execution_id, idx, item)
        select l.pool, l.rank, m.execution_id, m.idx, m.item
          from came m join noetl.lane l on l.id = m.lane
         where m.waits;
        get diagnostics v_hints = row_count;
    end if;
    if cardinality(w_exec) > 0 then
        with waiting as (
            insert into noetl.signal as s (execution_id, idx, item, waits, lane, token)
            select w.exec, w.idx, w.item, true, w.lane, w.token
              from unnest(w_exec, w_idx, w_item, w_lane, w_token)
                   as w (exec, idx, item, lane, token)
             order by 1, 2, 3
            on conflict (execution_id, idx, item) do update
               set waits = true, lane = excluded.lane, token = excluded.token
            returning s.execution_id, s.idx, s.item, s.arrived is not null as came, s.lane)
        insert into noetl.ready (pool, rank, execution_id, idx, item)
        select l.pool, l.rank, m.execution_id, m.idx, m.item
          from waiting m join noetl.lane l on l.id = m.lane
         where m.came;
        get diagnostics v_more = row_count;
        v_hints := v_hints + v_more;
    end if;
    return v_hints;
end $$;

-- Tell sleepers that there is work: one notice, and only when somebody sleeps.
create function noetl.wake_1(p_worker bigint, p_spilled integer) returns bigint[]
language plpgsql as $$
declare
    v_sleepers bigint[];
begin
    v_sleepers := array(select w.id from noetl.worker w
                         where w.asleep and w.gone_at is null and w.id <> p_worker);
    if cardinality(v_sleepers) > 0 then
        perform pg_notify('noetl_wake', array_to_string(v_sleepers[1 : 1 + p_spilled / 50], ','));
    end if;
    return v_sleepers;
end $$;

-- Whether a waiting step may begin once a token is counted: no way is open any more, or one was
-- live and the first is enough.
create function noetl.opens_1(toward integer, live integer, waits integer, more integer,
                              more_live integer) returns boolean
language sql immutable as $$
    select toward - (abs(waits) - more) <= 0 or (waits < 0 and live + more_live > 0)
$$;

create function noetl.flush_1(
    p_worker bigint, p_epoch bigint, p_beat boolean, p_asleep boolean,
    p_pools text[], p_wants integer[], p_only bigint[], p_alone boolean, p_relaxed boolean,
    -- with a beat, what this worker holds: what it noted before is forgotten
    b_exec bigint[], b_idx integer[], b_item bigint[],
    -- settled: leased by this worker (lease > 0), or passed through without a lease (lease = 0)
    d_exec bigint[], d_idx integer[], d_item bigint[], d_lease integer[], d_state smallint[],
    d_kind smallint[], d_attempt integer[], d_result text[], d_error text[], d_extra text[],
    d_note text[], d_answer text[], d_delay double precision[], d_lane integer[],
    -- tokens, sorted: of `waits` ways `n` are decided now and `live` of them bring control
    t_exec bigint[], t_idx integer[], t_item bigint[], t_waits integer[], t_n integer[],
    t_live integer[], t_lane integer[], t_keep boolean[],
    -- iterators: windows to open, and items that are over
    o_exec bigint[], o_idx integer[], o_item bigint[], o_total integer[], o_next integer[],
    o_tolerate integer[], o_entries text[], o_lanes text[],
    f_exec bigint[], f_idx integer[], f_item bigint[], f_ended integer[], f_failed integer[],
    f_lane integer[], f_keep integer[],
    -- executions that are over, and those that must not go on
    c_exec bigint[], c_status smallint[], c_result text[], c_error text[],
    h_exec bigint[], h_kind smallint[], h_reason text[],
    -- signals that arrive, signals waited for, permits given back, further events
    g_exec bigint[], g_idx integer[], g_item bigint[], g_text text[],
    w_exec bigint[], w_idx integer[], w_item bigint[], w_lane integer[], w_token text[],
    r_exec bigint[], r_idx integer[], r_item bigint[],
    e_kind smallint[], e_exec bigint[], e_idx integer[], e_item bigint[], e_attempt integer[],
    e_data text[],
    -- what this worker holds now
    out l_exec bigint[], out l_idx integer[], out l_item bigint[], out l_lease integer[],
    out l_attempt integer[], out l_crashes integer[], out l_live integer[],
    out l_before smallint[], out l_lane integer[], out l_plan integer[], out l_payload text[],
    out l_special boolean[], out l_note text[], out l_answer text[],
    out halted bigint[], out halted_kind smallint[], out next_due double precision,
    out alone_waits boolean, out sleepers bigint[], out watch_id bigint[], out watch_beat bigint[],
    out closing boolean
) language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_took boolean := false;
    v_count integer;
    v_spilled integer := 0;
    v_more integer;
    v_fan record;
    v_turn record;
    k noetl.leased_1;
    v_taken noetl.leased_1;
    v_over_exec bigint[]; v_over_status smallint[]; v_over_result text[]; v_over_error text[];
    v_writing integer[];
    v_says boolean := not (d_exec is null and t_exec is null and o_exec is null
                           and f_exec is null and c_exec is null and h_exec is null
                           and g_exec is null and w_exec is null and r_exec is null
                           and e_kind is null);
    v_limited boolean;
    v_from bigint;
    v_held bigint;
    v_due timestamptz;
    v_pool text;
    s_exec bigint[]; s_idx integer[]; s_item bigint[]; s_lane integer[];
begin
    -- The fence: a worker that was given up settles nothing. One that has nothing to say is only
    -- looked at; should it lease something, it is fenced then.
    if p_beat then
        update noetl.worker w set beat = w.beat + 1, seen_at = v_now, asleep = p_asleep
         where w.id = p_worker and w.epoch = p_epoch
        returning w.held_from into v_from;
    elsif v_says then
        perform from noetl.worker w where w.id = p_worker and w.epoch = p_epoch for share;
    else
        perform from noetl.worker w where w.id = p_worker and w.epoch = p_epoch;
    end if;
    if not found then
        raise exception 'fenced' using errcode = 'NE001';
    end if;

    halted := '{}'; halted_kind := '{}';
    if cardinality(d_exec) > 0 and exists (select from noetl.halt) then
        select coalesce(array_agg(h.execution_id), '{}'), coalesce(array_agg(h.kind), '{}')
          into halted, halted_kind
          from (select execution_id, kind from noetl.halt
                 where execution_id = any (d_exec) for share) h;
    end if;
    if cardinality(d_exec) > 0 then
        with put as (
            insert into noetl.step as s (execution_id, idx, item, state, lease, attempt, result,
                error, extra, note, answer, lane, owner, ready_at, leased_at, ended_at)
            select d.exec, d.idx, d.item, d.state, d.lease, d.attempt, d.result, d.error, d.extra,
                   d.note, d.answer, d.lane, case when d.state = 2 then p_worker end, v_now, v_now,
                   case when d.state in (3, 4, 5, 6, 7) then v_now end
              from unnest(d_exec, d_idx, d_item, d_lease, d_state, d_attempt, d_result, d_error,
                          d_extra, d_note, d_answer, d_lane)
                   as d (exec, idx, item, lease, state, attempt, result, error, extra, note,
                         answer, lane)
            on conflict (execution_id, idx, item) do update
               set state = excluded.state, attempt = excluded.attempt, result = excluded.result,
                   error = excluded.error, extra = excluded.extra,
                   note = case when excluded.state in (1, 10) then coalesce(excluded.note, s.note)
                               else excluded.note end,
                   answer = case when excluded.state = 1 then coalesce(excluded.answer, s.answer)
                                 else excluded.answer end,
                   owner = excluded.owner, ended_at = excluded.ended_at,
                   ready_at = case when s.state = 0 then v_now else s.ready_at end
             where (s.state = 2 and s.owner = p_worker and s.lease = excluded.lease)
                or (s.state = 0 and excluded.lease = 0)
            returning 1)
        select count(*) into v_count from put;
        if v_count <> cardinality(d_exec) then
            raise exception 'stale' using errcode = 'NE002';
        end if;
        if d_state && '{8,9,10}' then
            insert into noetl.waiting (execution_id)
            select d.exec from unnest(d_exec, d_state) as d (exec, state)
             where d.state in (8, 9, 10) order by 1
            on conflict do nothing;
        end if;
        if d_delay is not null then
            insert into noetl.timer (due, execution_id, idx, item, lane)
            select v_now + make_interval(secs => d.delay), d.exec, d.idx, d.item, d.lane
              from unnest(d_exec, d_idx, d_item, d_delay, d_lane)
                   as d (exec, idx, item, delay, lane)
             where d.delay is not null;
        end if;
        if 1 = any (d_state) then
            insert into noetl.ready (pool, rank, execution_id, idx, item)
            select l.pool, l.rank, d.exec, d.idx, d.item
              from unnest(d_exec, d_idx, d_item, d_state, d_lane)
                   as d (exec, idx, item, state, lane)
              join noetl.lane l on l.id = d.lane
             where d.state = 1;
            get diagnostics v_more = row_count;
            v_spilled := v_spilled + v_more;
        end if;
        -- The last item of an iterator may have ended, and its hint been used up, while somebody
        -- looked at the iterator too early.
        if 9 = any (d_state) then
            insert into noetl.ready (pool, rank, execution_id, idx, item)
            select l.pool, l.rank, d.exec, d.idx, d.item
              from unnest(d_exec, d_idx, d_item, d_state, d_lane)
                   as d (exec, idx, item, state, lane)
              join noetl.fan f on f.execution_id = d.exec and f.idx = d.idx and f.item = d.item
              join noetl.lane l on l.id = d.lane
             where d.state = 9 and f.live <= 0 and (f.closed or f.next >= f.total);
            get diagnostics v_more = row_count;
            v_spilled := v_spilled + v_more;
        end if;
    end if;

    if cardinality(r_exec) > 0 then
        delete from noetl.permit p
         where (p.execution_id, p.idx, p.item) in (select * from unnest(r_exec, r_idx, r_item));
        v_spilled := v_spilled + 1;
    end if;

    if cardinality(t_exec) > 0 then
        with up as (
            insert into noetl.step as s (execution_id, idx, item, lane, waits, toward, live, owner,
                state, lease, attempt, ready_at, leased_at)
            select t.exec, t.idx, t.item, t.lane, t.waits, abs(t.waits) - t.n, t.live,
                   case when t.mine then p_worker end,
                   case when not t.over then 0 when t.mine then 2 else 1 end,
                   (t.over and t.mine)::integer, (t.over and t.mine)::integer,
                   case when t.over then v_now end,
                   case when t.over and t.mine then v_now end
              from (select *, abs(waits) <= n or (waits < 0 and live > 0) as over,
                           keep and not exec = any (halted) as mine
                      from unnest(t_exec, t_idx, t_item, t_waits, t_n, t_live, t_lane, t_keep)
                           as t (exec, idx, item, waits, n, live, lane, keep)) t
            on conflict (execution_id, idx, item) do update
               set toward = s.toward - (abs(excluded.waits) - excluded.toward),
                   live = s.live + excluded.live, lane = excluded.lane, waits = excluded.waits,
                   state = case when not (s.state = 0 and noetl.opens_1(
                                    s.toward, s.live, excluded.waits, excluded.toward,
                                    excluded.live)) then s.state
                                when excluded.owner is not null then 2 else 1 end,
                   owner = case when s.state = 0 then excluded.owner else s.owner end,
                   lease = s.lease + (s.state = 0 and excluded.owner is not null
                       and noetl.opens_1(s.toward, s.live, excluded.waits, excluded.toward,
                                         excluded.live))::integer,
                   attempt = s.attempt + (s.state = 0 and excluded.owner is not null
                       and noetl.opens_1(s.toward, s.live, excluded.waits, excluded.toward,
                                         excluded.live))::integer,
                   ready_at = case when s.state = 0 and noetl.opens_1(
                                    s.toward, s.live, excluded.waits, excluded.toward,
                                    excluded.live) then v_now else s.ready_at end,
                   leased_at = case when s.state = 0 then v_now else s.leased_at end
            returning s.execution_id, s.idx, s.item, s.state, s.lane, s.lease, s.attempt,
                      s.crashes, s.live, s.ready_at, s.owner)
        select array_agg(up.execution_id) filter (where up.mine),
               array_agg(up.idx) filter (where up.mine),
               array_agg(up.item) filter (where up.mine),
               array_agg(up.lease) filter (where up.mine),
               array_agg(up.attempt) filter (where up.mine),
               array_agg(up.crashes::integer) filter (where up.mine),
               array_agg(up.live) filter (where up.mine),
               array_agg(0::smallint) filter (where up.mine),
               array_agg(up.lane) filter (where up.mine),
               array_agg(up.execution_id) filter (where up.spilled),
               array_agg(up.idx) filter (where up.spilled),
               array_agg(up.item) filter (where up.spilled),
               array_agg(up.lane) filter (where up.spilled)
          into k.exec, k.idx, k.item, k.lease, k.attempt, k.crashes, k.live, k.before, k.lane,
               s_exec, s_idx, s_item, s_lane
          from (select *, up.state = 2 and up.owner = p_worker as mine,
                       up.state = 1 and not up.execution_id = any (halted) as spilled
                  from up where up.ready_at = v_now) up;
        if s_exec is not null then
            insert into noetl.ready (pool, rank, execution_id, idx, item)
            select l.pool, l.rank, s.exec, s.idx, s.item
              from unnest(s_exec, s_idx, s_item, s_lane) as s (exec, idx, item, lane)
              join noetl.lane l on l.id = s.lane;
            v_spilled := v_spilled + cardinality(s_exec);
        end if;
        if k.exec is not null then
            v_count := cardinality(k.exec);
            k.ready_at := array_fill(v_now, array[v_count]);
            k.plan := array_fill(null::integer, array[v_count]);
            k.payload := array_fill(null::text, array[v_count]);
            k.special := array_fill(false, array[v_count]);
            k.note := k.payload;
            k.answer := k.payload;
        end if;
    end if;

    if cardinality(o_exec) > 0 then
        insert into noetl.fan (execution_id, idx, item, total, next, live, tolerate, entries, lanes)
        select o.exec, o.idx, o.item, o.total, o.next, o.next, o.tolerate,
               o.entries::integer[], o.lanes::integer[]
          from unnest(o_exec, o_idx, o_item, o_total, o_next, o_tolerate, o_entries, o_lanes)
               as o (exec, idx, item, total, next, tolerate, entries, lanes)
        on conflict (execution_id, idx, item) do update
           set total = excluded.total, next = excluded.next, live = excluded.next, failed = 0,
               tolerate = excluded.tolerate, entries = excluded.entries, lanes = excluded.lanes,
               closed = false;
    end if;

    if f_exec is not null then
    for v_fan in
        select * from unnest(f_exec, f_idx, f_item, f_ended, f_failed, f_lane, f_keep)
               as f (exec, idx, item, ended, failed, lane, keep)
    loop
        select * into v_turn from noetl.fan_turn_1(
            p_worker, v_fan.exec, v_fan.idx, v_fan.item, v_fan.ended, v_fan.failed, v_fan.lane,
            v_fan.keep, v_fan.exec = any (halted), v_now);
        v_taken := v_turn.kept;
        if v_taken.exec is not null then
            k := case when k.exec is null then v_taken else noetl.both_1(k, v_taken) end;
        end if;
        v_spilled := v_spilled + v_turn.spilled;
    end loop;
    end if;

    if cardinality(c_exec) > 0 then
        with over as (
            insert into noetl.execution as x (id, plan_id, status, result, error, ended_at)
            select c.exec, 0, c.status, c.result, c.error, v_now
              from unnest(c_exec, c_status, c_result, c_error) as c (exec, status, result, error)
            on conflict (id) do update
               set status = case when x.outcome <> 0 then x.outcome else excluded.status end,
                   result = excluded.result, error = coalesce(x.error, excluded.error),
                   ended_at = excluded.ended_at, outcome = 0
             where x.status = 0
            returning x.id, x.status, x.result, x.error)
        select array_agg(id), array_agg(status), array_agg(result), array_agg(error)
          into v_over_exec, v_over_status, v_over_result, v_over_error from over;
        -- Tables that are nearly always empty; asked now, for something may have come meanwhile.
        if exists (select from noetl.waiting) then
            delete from noetl.waiting where execution_id = any (c_exec);
        end if;
        if exists (select from noetl.halt) then
            delete from noetl.halt where execution_id = any (c_exec);
        end if;
        if exists (select from noetl.end_call) then
            perform noetl.ended_1(c_exec);
        end if;
    end if;

    if cardinality(h_exec) > 0 then
        insert into noetl.halt (execution_id, kind, reason)
        select distinct on (h.exec) h.exec, h.kind, h.reason
          from unnest(h_exec, h_kind, h_reason) with ordinality as h (exec, kind, reason, o)
         order by h.exec, h.kind desc, h.o
        on conflict (execution_id) do update
           set kind = excluded.kind, reason = excluded.reason
         where noetl.halt.kind < excluded.kind;
        halted := halted || h_exec; halted_kind := halted_kind || h_kind;
    end if;

    if g_exec is not null or w_exec is not null then
        v_spilled := v_spilled + noetl.meet_1(g_exec, g_idx, g_item, g_text, null,
                                              w_exec, w_idx, w_item, w_lane, w_token);
    end if;

    -- Timers that are due become hints.
    select min(t.due) into v_due from noetl.timer t;
    if v_due <= v_now then
    with gone as (
        delete from noetl.timer where id = any (array(
            select t.id from noetl.timer t where t.due <= v_now order by t.due limit 500
               for update skip locked))
        returning execution_id, idx, item, lane),
    late as (
        insert into noetl.halt (execution_id, kind, reason)
        select gone.execution_id, 2, '{"code":"timeout","message":"the execution took too long"}'
          from gone join noetl.execution e on e.id = gone.execution_id
         where gone.idx = -1 and e.status = 0 and e.outcome = 0
        on conflict (execution_id) do update
           set kind = excluded.kind, reason = excluded.reason
         where noetl.halt.kind < excluded.kind)
    insert into noetl.ready (pool, rank, execution_id, idx, item)
    select l.pool, l.rank, gone.execution_id, gone.idx, gone.item
      from gone join noetl.lane l on l.id = gone.lane
     where gone.idx >= 0;
    select min(t.due) into v_due from noetl.timer t;
    end if;
    next_due := extract(epoch from v_due - v_now);

    for v_count in 1 .. coalesce(cardinality(p_pools), 0) loop
        continue when p_wants[v_count] <= 0;
        v_taken := noetl.take_1(p_worker, p_pools[v_count], p_wants[v_count], p_only, v_now, false);
        continue when v_taken.exec is null;
        v_took := true;
        k := case when k.exec is null then v_taken else noetl.both_1(k, v_taken) end;
    end loop;
    -- Names of queues with limits begin with an equals sign. A step that took workers with it is
    -- done by a worker that holds nothing else.
    select exists (select from noetl.ready where pool >= '=' and pool < '>'),
           exists (select from noetl.ready where pool >= '!alone' and pool < '!alonf')
      into v_limited, alone_waits;
    if v_limited and coalesce(p_wants[1], 0) > 0 then
        v_taken := noetl.take_limited_1(p_worker, '', p_pools, p_wants[1], p_only, v_now, false);
        if v_taken.exec is not null then
            v_took := true;
            k := case when k.exec is null then v_taken else noetl.both_1(k, v_taken) end;
        end if;
    end if;
    if alone_waits then
        if p_alone and k.exec is null then
            foreach v_pool in array p_pools loop
                k := noetl.take_1(p_worker, '!alone' || v_pool, 1, p_only, v_now, true);
                exit when k.exec is not null;
            end loop;
        end if;
        if p_alone and k.exec is null then
            k := noetl.take_limited_1(p_worker, '!alone', p_pools, 1, p_only, v_now, true);
        end if;
        alone_waits := exists (
            select from noetl.ready r
             where r.pool >= '!alone' and r.pool < '!alonf'
               and split_part(substr(r.pool, 7), '@', -1) = any (p_pools)
               and (p_only is null or r.execution_id = any (p_only)));
    end if;

    if k.exec is not null and not (v_says or p_beat) then
        perform from noetl.worker w where w.id = p_worker and w.epoch = p_epoch for share;
        if not found then
            raise exception 'fenced' using errcode = 'NE001';
        end if;
    end if;

    -- What may be lost with the server need not wait for the disk, unless more came of it than its
    -- worker knew: a lease from a queue, or one of a writing step, which is the intent to write.
    -- What is lost is the newest, so nothing durable ever rests on it.
    if p_relaxed and not v_took and not alone_waits
            and (k.exec is null or not exists (select from noetl.lane l
                                                where l.id = any (k.lane) and l.writes > 0)) then
        perform set_config('synchronous_commit', 'off', true);
    end if;
    -- The lease of a writing step is its intent.
    if k.exec is not null then
        v_writing := array(select l.id from noetl.lane l
                            where l.id = any (k.lane) and l.writes in (1, 3, 4));
    end if;
    if d_exec is not null or e_kind is not null or k.exec is not null or v_over_exec is not null
    then
        insert into noetl.event (kind, execution_id, idx, item, attempt, worker, ready_at,
                                 leased_at, data)
        select d.kind, d.exec, d.idx, d.item, d.attempt, p_worker, null::timestamptz,
               null::timestamptz,
               case when coalesce(d.result, d.error, d.extra, d.note, d.answer) is not null
                         or d.delay is not null
                    then noetl.told_1(d.result, d.error, d.extra, d.note, d.answer, d.delay) end
          from unnest(d_kind, d_exec, d_idx, d_item, d_attempt, d_result, d_error, d_extra, d_note,
                      d_answer, d_delay)
               as d (kind, exec, idx, item, attempt, result, error, extra, note, answer, delay)
         where d.kind > 0
        union all
        select e.kind, e.exec, e.idx, e.item, e.attempt, p_worker, null, null, e.data
          from unnest(e_kind, e_exec, e_idx, e_item, e_attempt, e_data)
               as e (kind, exec, idx, item, attempt, data)
        union all
        select (case when s.before = 9 then 20 else 10 end)::smallint, s.exec, s.idx, s.item,
               s.attempt, p_worker, s.ready_at, v_now, null
          from unnest(k.exec, k.idx, k.item, k.attempt, k.before, k.ready_at, k.live)
               as s (exec, idx, item, attempt, before, ready_at, live)
         where s.live > 0
        union all
        select 11, s.exec, s.idx, s.item, s.attempt, p_worker, null, null, null
          from unnest(k.exec, k.idx, k.item, k.attempt, k.lane, k.live)
               as s (exec, idx, item, attempt, lane, live)
         where cardinality(v_writing) > 0 and s.live > 0 and s.lane = any (v_writing)
        union all
        select 1 + c.status, c.exec, null, null, null, p_worker, null, null,
               noetl.told_1(c.result, c.error, null, null, null, null)
          from unnest(v_over_exec, v_over_status, v_over_result, v_over_error)
               as c (exec, status, result, error);
    end if;

    -- What is held is noted with the lease; with a beat the notes are gathered into one.
    if b_exec is not null then
        insert into noetl.held (worker, execs, idxs, items)
        values (p_worker, b_exec || k.exec, b_idx || k.idx, b_item || k.item)
        returning id into v_held;
        delete from noetl.held h where h.worker = p_worker and h.id >= v_from and h.id < v_held;
        update noetl.worker set held_from = v_held where id = p_worker;
    elsif k.exec is not null then
        insert into noetl.held (worker, execs, idxs, items)
        values (p_worker, k.exec, k.idx, k.item);
    end if;

    l_exec := k.exec; l_idx := k.idx; l_item := k.item; l_lease := k.lease;
    l_attempt := k.attempt; l_crashes := k.crashes; l_live := k.live; l_before := k.before;
    l_lane := k.lane; l_plan := k.plan; l_payload := k.payload; l_special := k.special;
    l_note := k.note; l_answer := k.answer;
    -- With a beat a worker sees the beats of the others, and whether something is to be ended.
    if p_beat then
        select array_agg(w.id), array_agg(w.beat) into watch_id, watch_beat
          from noetl.worker w where w.id <> p_worker;
        closing := exists (select from noetl.halt where kind > 1);
    end if;
    if v_spilled > 0 then
        sleepers := noetl.wake_1(p_worker, v_spilled);
    end if;
end $$;
