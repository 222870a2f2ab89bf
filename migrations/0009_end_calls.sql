-- Who is to be told of the end of an execution, and items that are called off.

-- An address that was given with an execution, for each of its rounds. `due` is null until the round
-- is over; then it says when the address is called next. A row goes once it was called, or given up.
create table noetl.end_call (
    execution_id bigint not null,
    round integer not null,
    url text not null,
    due timestamptz,
    tries integer not null default 0,
    status smallint,
    result text,
    error text,
    ended_at timestamptz,
    said text,
    primary key (execution_id, round)
) with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);
create index end_call_due on noetl.end_call (due) where due is not null;

-- Executions have come to the end of a round: whoever is to be told of it is due, with what came of
-- it, for a retry clears that. Called in the transaction of the end, and only when there are such
-- rows at all. Its plans are kept, and go by indexes however small the tables were.
create function noetl.ended_1(p_exec bigint[]) returns integer
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off
as $$
declare
    v_count integer;
begin
    update noetl.end_call c
       set due = clock_timestamp(), status = e.status, result = e.result, error = e.error,
           ended_at = e.ended_at
      from noetl.execution e
     where c.execution_id = any (p_exec) and c.due is null
       and e.id = c.execution_id and e.round = c.round and e.status <> 0;
    get diagnostics v_count = row_count;
    return v_count;
end $$;

-- Too many items of an iterator have failed: those that were handed out and not begun are called
-- off, and count as over. What may have been sent is left alone. Says whether the window is closed;
-- workers that listen stop the items that they are at.
create function noetl.call_off_1(p_exec bigint, p_idx integer, p_item bigint, p_idxs integer[],
                                 p_lane integer) returns boolean
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off
as $$
declare
    v_count integer;
    v_live integer;
begin
    perform from noetl.fan f
      where f.execution_id = p_exec and f.idx = p_idx and f.item = p_item and f.closed;
    if not found then
        return false;
    end if;
    with idle as materialized (
        select s.idx, s.item from noetl.step s join noetl.lane l on l.id = s.lane
         where s.execution_id = p_exec and s.idx = any (p_idxs)
           and s.item between p_item * 2097152 + 1 and p_item * 2097152 + 2097151
           and s.state in (1, 8) and s.note is null and s.answer is null
           and (l.writes = 0 or s.attempt = 0)
         order by s.idx, s.item
           for update of s skip locked),
    gone as (
        update noetl.step s set state = 6, ended_at = clock_timestamp()
          from idle i
         where s.execution_id = p_exec and s.idx = i.idx and s.item = i.item
        returning s.idx, s.item, s.attempt),
    logged as (
        insert into noetl.event (kind, execution_id, idx, item, attempt)
        select 18, p_exec, g.idx, g.item, g.attempt from gone g order by g.idx, g.item)
    select count(*) into v_count from gone;
    if v_count > 0 then
        update noetl.fan f set live = f.live - v_count
         where f.execution_id = p_exec and f.idx = p_idx and f.item = p_item
        returning f.live into v_live;
        if v_live <= 0 then
            insert into noetl.ready (pool, rank, execution_id, idx, item)
            select l.pool, l.rank, p_exec, p_idx, p_item from noetl.lane l where l.id = p_lane;
            perform noetl.wake_1(0, 1);
        end if;
    end if;
    perform pg_notify('noetl_halt', 'items:' || p_exec || ':' || p_idx || ':' || p_item);
    return true;
end $$;
