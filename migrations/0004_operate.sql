-- What those need who watch and decide: answers by token, iterators that go on, old executions.

-- An answer from outside names its token.
create index signal_token on noetl.signal (token) where token is not null;

-- Who resumes, retries or removes an execution looks for its timers among those of all others.
create index timer_of on noetl.timer (execution_id);

-- Hand out further items of iterators whose window has room: nothing was handed out while the
-- execution was halted, and a retry leaves fewer at work than the window allows.
create function noetl.fill_1(p_exec bigint, p_idx integer[], p_item bigint[], p_window integer[],
                             p_lane integer[]) returns integer
language plpgsql as $$
declare
    v_one record;
    v_fan noetl.fan;
    v_give integer;
    v_given integer := 0;
begin
    for v_one in
        select * from unnest(p_idx, p_item, p_window, p_lane) as w (idx, item, wide, lane)
         order by idx, item
    loop
        select * into v_fan from noetl.fan f
         where f.execution_id = p_exec and f.idx = v_one.idx and f.item = v_one.item for update;
        continue when not found or v_fan.closed;
        v_give := least(v_one.wide - v_fan.live, v_fan.total - v_fan.next);
        continue when v_give <= 0;
        update noetl.fan f set live = f.live + v_give
         where f.execution_id = p_exec and f.idx = v_one.idx and f.item = v_one.item;
        perform noetl.fan_turn_1(0, p_exec, v_one.idx, v_one.item, v_give, 0, v_one.lane, 0, false,
                                 clock_timestamp());
        v_given := v_given + v_give;
    end loop;
    return v_given;
end $$;

-- Queue again what lost its hint while the execution was halted. What has its answer goes on; else
-- what has a timer waits for it, and what waits for somebody without a bound for what arrives.
create function noetl.requeue_1(p_exec bigint[]) returns integer
language plpgsql as $$
declare
    v_count integer;
begin
    insert into noetl.ready (pool, rank, execution_id, idx, item)
    select case when s.crashes >= 2 and s.state = 1 then '!alone' || l.pool else l.pool end, l.rank,
           s.execution_id, s.idx, s.item
      from noetl.step s
      join noetl.lane l on l.id = s.lane
     where s.execution_id = any (p_exec)
       and (s.state = 1
            or s.state = 9
               and exists (select from noetl.signal g
                            where g.execution_id = s.execution_id and g.idx = s.idx
                              and g.item = s.item and g.arrived is not null)
            or s.state in (8, 9)
               and not exists (select from noetl.timer t
                                where t.execution_id = s.execution_id and t.idx = s.idx
                                  and t.item = s.item)
               and not exists (select from noetl.signal g
                                where g.execution_id = s.execution_id and g.idx = s.idx
                                  and g.item = s.item and g.waits and g.arrived is null
                                  and s.note not like '%"until":"%')
               and not exists (select from noetl.fan f
                                where f.execution_id = s.execution_id and f.idx = s.idx
                                  and f.item = s.item
                                  and (f.live > 0 or not f.closed and f.next < f.total)))
     order by s.execution_id, s.idx, s.item;
    get diagnostics v_count = row_count;
    return v_count;
end $$;

-- Keep an answer that came from outside, once; wake the step when it waits already. Nothing comes
-- back when it was answered before.
create function noetl.answer_1(p_exec bigint, p_idx integer, p_item bigint, p_text text,
                               p_by text) returns boolean
language plpgsql as $$
declare
    v_waits boolean;
    v_lane integer;
begin
    insert into noetl.signal as s (execution_id, idx, item, arrived, arrived_at, said_by)
    values (p_exec, p_idx, p_item, p_text, clock_timestamp(), p_by)
    on conflict (execution_id, idx, item) do update
       set arrived = excluded.arrived, arrived_at = excluded.arrived_at, said_by = excluded.said_by
     where s.arrived is null
    returning s.waits, s.lane into v_waits, v_lane;
    if v_waits then
        insert into noetl.ready (pool, rank, execution_id, idx, item)
        select l.pool, l.rank, p_exec, p_idx, p_item from noetl.lane l where l.id = v_lane;
        perform noetl.wake_1(0, 1);
    end if;
    return v_waits;
end $$;
