-- name: family
-- An execution and all that it started, itself or through others, as far as they run.
with recursive family (id, depth) as (
    select e.id, 0 from noetl.execution e where e.id = %(id)s
    union all
    select e.id, f.depth + 1 from family f join noetl.execution e on e.parent_execution = f.id)
select e.id, e.plan_id, e.outcome, h.kind, h.at
  from family f
  join noetl.execution e on e.id = f.id
  left join noetl.halt h on h.execution_id = e.id
 where e.status = 0
 order by f.depth, e.id;

-- name: lock_all
-- In the order of their numbers, as everybody does who locks several.
select id from noetl.execution where id = any(%(ids)s) and status = 0 order by id for update;

-- name: any_begun
-- Whether one of some steps was ever unlocked.
select 1 from noetl.step
 where execution_id = %(id)s and idx = any(%(idxs)s) and item = 0 and state > 0 limit 1;

-- name: halt
-- A stronger reason takes the place of a weaker one.
insert into noetl.halt as h (execution_id, kind, reason, said_by, at)
select x.id, %(kind)s, %(reason)s, %(by)s, %(at)s
  from unnest(%(ids)s::bigint[]) as x (id)
  join noetl.execution e on e.id = x.id and e.status = 0
 order by x.id
on conflict (execution_id) do update
   set kind = excluded.kind, reason = excluded.reason, said_by = excluded.said_by,
       at = excluded.at
 where h.kind < excluded.kind
returning execution_id;

-- name: now
select clock_timestamp();

-- name: unhalt
-- Only what is paused may go on.
delete from noetl.halt where execution_id = any(%(ids)s) and kind = 1 returning execution_id;

-- name: fans
-- Windows that may have room.
select execution_id, idx, item, live from noetl.fan
 where execution_id = any(%(ids)s) and not closed and next < total;

-- name: fill
select noetl.fill_1(%(id)s, %(idxs)s::integer[], %(items)s::bigint[], %(windows)s::integer[],
                    %(lanes)s::integer[]);

-- name: requeue
select noetl.requeue_1(%(ids)s);

-- name: in_the_way
-- What keeps a halted execution from its end.
select s.idx, s.item, s.state, s.owner, s.note from noetl.step s
 where s.execution_id = %(id)s
   and (s.state in (2, 10) or (s.state = 9 and s.note like '{"child"%%'))
 order by s.idx, s.item limit 100;
