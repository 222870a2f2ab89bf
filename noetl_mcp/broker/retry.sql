-- name: rows
-- The execution's own steps. Of what a step left only the ways that it took are asked.
select s.idx, s.item, s.state, s.note, s.answer is not null, s.error,
       case when s.extra like '%%"took"%%' then s.extra end
  from noetl.step s
 where s.execution_id = %(id)s and s.item = 0;

-- name: items
-- The steps of all items of some iterators.
select s.idx, s.item, s.state, s.note, s.answer is not null, s.error,
       case when s.extra like '%%"took"%%' then s.extra end
  from noetl.step s
 where s.execution_id = %(id)s and s.idx = any(%(idxs)s) and s.item > 0;

-- name: fans
select idx, item, total, next from noetl.fan where execution_id = %(id)s;

-- name: parked_note
-- A failed iterator has forgotten its items; the log has not.
select e.data from noetl.event e
 where e.execution_id = %(id)s and e.idx = %(idx)s and e.item = %(item)s
   and e.kind = (select k.kind from noetl.event_kind k where k.name = 'step_parked')
   and e.data like '{"note%%'
 order by e.id desc limit 1;

-- name: wrote
-- Which of some steps have written: done, or answered before they failed.
select distinct s.idx from noetl.step s join noetl.lane l on l.id = s.lane
 where s.execution_id = %(id)s and s.idx = any(%(idxs)s) and l.writes > 0
   and (s.state = 3 or s.answer is not null);

-- name: children_wrote
-- Which of some steps started executions that have written.
with recursive family (id, root) as (
    select e.id, e.parent_idx from noetl.execution e
     where e.parent_execution = %(id)s and e.parent_idx = any(%(idxs)s)
    union all
    select e.id, f.root from family f join noetl.execution e on e.parent_execution = f.id)
select distinct f.root from family f
 where exists (select from noetl.step s join noetl.lane l on l.id = s.lane
                where s.execution_id = f.id and l.writes > 0
                  and (s.state = 3 or s.answer is not null));

-- name: child_of
-- The child that a step started last; its worker may have died before it could note it.
select id from noetl.execution
 where parent_execution = %(id)s and parent_idx = %(idx)s and parent_item = %(item)s
 order by id desc limit 1;

-- name: forget_steps
delete from noetl.step t
 using unnest(%(idxs)s::integer[], %(firsts)s::bigint[], %(lasts)s::bigint[])
       as g (idx, first, last)
 where t.execution_id = %(id)s and t.idx = g.idx and t.item between g.first and g.last;

-- name: forget_fans
delete from noetl.fan t
 using unnest(%(idxs)s::integer[], %(firsts)s::bigint[], %(lasts)s::bigint[])
       as g (idx, first, last)
 where t.execution_id = %(id)s and t.idx = g.idx and t.item between g.first and g.last;

-- name: forget_signals
delete from noetl.signal t
 using unnest(%(idxs)s::integer[], %(firsts)s::bigint[], %(lasts)s::bigint[])
       as g (idx, first, last)
 where t.execution_id = %(id)s and t.idx = g.idx and t.item between g.first and g.last;

-- name: forget_hints
delete from noetl.ready where execution_id = %(id)s;

-- name: forget_timers
-- Those of the steps are looked up again by the steps; that of the execution begins anew.
delete from noetl.timer where execution_id = %(id)s;

-- name: put
-- A row is taken as it is found, so that the numbers of its leases go on rising. An answer that is
-- judged again belongs to the attempt that brought it.
insert into noetl.step as s (execution_id, idx, item, state, lane, waits, toward, live, ready_at,
                             note)
select %(id)s, x.idx, x.item, x.state, x.lane, x.waits, x.toward, x.live,
       case when x.state > 0 then clock_timestamp() end, x.note
  from unnest(%(idxs)s::integer[], %(items)s::bigint[], %(states)s::smallint[],
              %(lanes)s::integer[], %(waits)s::integer[], %(towards)s::integer[],
              %(lives)s::integer[], %(notes)s::text[])
       as x (idx, item, state, lane, waits, toward, live, note)
 order by x.idx, x.item
on conflict (execution_id, idx, item) do update
   set state = excluded.state, lane = excluded.lane, waits = excluded.waits,
       toward = excluded.toward, live = excluded.live, ready_at = excluded.ready_at,
       note = excluded.note, crashes = 0, alone = false, before = 0, owner = null,
       leased_at = null, ended_at = null, result = null, error = null, extra = null,
       attempt = case when s.state = 6 and excluded.state > 0 then s.attempt
                      when %(keeps)s and excluded.state = 1 and s.answer is not null
                      then greatest(s.attempt - 1, 0) else 0 end,
       answer = case when %(keeps)s then s.answer end;

-- name: judged
-- What begins again with the answer it has, and after how many attempts.
select idx, item, attempt from noetl.step
 where execution_id = %(id)s and state = 1 and answer is not null order by idx, item;

-- name: listen
-- The step waits for its child again, whatever came of the child before.
insert into noetl.signal (execution_id, idx, item, waits, lane)
select %(id)s, x.idx, x.item, true, x.lane
  from unnest(%(idxs)s::integer[], %(items)s::bigint[], %(lanes)s::integer[])
       as x (idx, item, lane)
 order by x.idx, x.item
on conflict (execution_id, idx, item) do update
   set waits = true, lane = excluded.lane, token = null, arrived = null, arrived_at = null,
       said_by = null;

-- name: open_windows
-- Each of some iterators goes on with the items that are at work again.
insert into noetl.fan as f (execution_id, idx, item, total, next, live, tolerate, entries, lanes)
select %(id)s, x.idx, x.item, 0, 0, x.live, 0, '{}', '{}'
  from unnest(%(idxs)s::integer[], %(items)s::bigint[], %(lives)s::integer[])
       as x (idx, item, live)
on conflict (execution_id, idx, item) do update
   set live = excluded.live, failed = 0, closed = false;

-- name: begin
-- A further round of an execution that is over; whoever is to be told of its end is told of this
-- one, too.
with begun as (
    update noetl.execution
       set status = 0, outcome = 0, round = round + 1, error = null, result = null, ended_at = null
     where id = %(id)s and status in (2, 3)
    returning id, round, on_end),
heard as (
    insert into noetl.end_call (execution_id, round, url)
    select b.id, b.round, b.on_end from begun b where b.on_end is not null
    on conflict do nothing)
select round from begun;

-- name: mark_waiting
-- Some of its steps may still wait for something.
insert into noetl.waiting (execution_id) values (%(id)s) on conflict do nothing;

-- name: unhalt
delete from noetl.halt where execution_id = %(id)s;

-- name: limit
insert into noetl.timer (due, execution_id, idx, item)
values (clock_timestamp() + make_interval(secs => %(seconds)s), %(id)s, -1, 0);
