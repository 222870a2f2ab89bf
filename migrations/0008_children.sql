-- Halt a child that was started while its parent was paused or cancelled: whoever did that could
-- not see it yet. Who halts a family locks its executions first, and looks for more of them then; so
-- either he sees the child, or his halt is seen here.
create function noetl.follow_1(p_parent bigint[], p_ids bigint[], p_fresh boolean[])
returns integer language plpgsql as $$
declare
    v_count integer;
begin
    perform from noetl.execution where id = any (p_parent) order by id for share;
    with halted as (
        insert into noetl.halt (execution_id, kind, reason, said_by, at)
        select c.id, h.kind, h.reason, h.said_by, h.at
          from unnest(p_parent, p_ids, p_fresh) as c (parent, id, fresh)
          join noetl.halt h on h.execution_id = c.parent and h.kind in (1, 3)
          join noetl.execution e on e.id = c.id and e.status = 0
         where c.fresh
        on conflict (execution_id) do nothing
        returning execution_id, kind, said_by)
    insert into noetl.event (kind, execution_id, data)
    select case h.kind when 1 then 5 else 35 end, h.execution_id,
           '{' || concat_ws(',', '"by":' || to_json(h.said_by), '"with":' || e.parent_execution,
               case when h.kind > 1
                    then '"text":"it is to end with its parent","stream":"noetl"' end) || '}'
      from halted h join noetl.execution e on e.id = h.execution_id
     order by h.execution_id;
    get diagnostics v_count = row_count;
    return v_count;
end $$;
