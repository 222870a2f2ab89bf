-- name: standing
-- How an execution stands, and the oldest transaction at work. Read before its events: what was over
-- then has all of its events by now. Who asks for a mark draws a number that is higher than that of
-- anybody at work; the upper end of a snapshot is not, it only knows of those that have ended.
select (select x.status from noetl.execution x where x.id = %(execution_id)s),
       pg_snapshot_xmin(pg_current_snapshot())::text,
       case when %(mark)s then pg_current_xact_id()::text end;

-- name: events
-- Up to `top` those are left out that were read before; beyond it none was.
select e.id, e.ts, k.name, e.execution_id, e.idx, coalesce(p.name, '#' || e.idx), e.item, e.attempt,
       e.worker, e.ready_at, e.leased_at, e.data
  from noetl.event e
  join noetl.event_kind k on k.kind = e.kind
  left join noetl.execution x on x.id = e.execution_id
  left join noetl.plan_step p on p.plan_id = x.plan_id and p.idx = e.idx
 where e.execution_id = %(execution_id)s
   and e.id > %(after)s
   and (e.id > %(top)s or e.id <> all (%(seen)s::bigint[]))
   and (%(step)s::text is null or p.name = %(step)s)
   and (%(item)s::bigint is null or e.item = %(item)s)
   and (%(kinds)s::text[] is null or k.name = any (%(kinds)s))
 order by e.id limit %(most)s;

-- name: kinds
select name from noetl.event_kind order by kind;

-- name: snapshot
select pg_snapshot_xmin(pg_current_snapshot())::text,
       case when %(mark)s then pg_current_xact_id()::text end;

-- name: beyond
-- The whole log from a number on. Names are looked up row by row: a join would read all executions.
select e.id, e.ts, k.name, e.execution_id, e.idx,
       coalesce((select p.name from noetl.execution x
                   join noetl.plan_step p on p.plan_id = x.plan_id and p.idx = e.idx
                  where x.id = e.execution_id), '#' || e.idx),
       e.item, e.attempt, e.worker, e.ready_at, e.leased_at, e.data
  from (select * from noetl.event where id > %(top)s order by id limit %(most)s) e
  join noetl.event_kind k on k.kind = e.kind
 order by e.id;

-- name: between
-- What came late into the gaps that were seen.
select e.id, e.ts, k.name, e.execution_id, e.idx,
       coalesce((select p.name from noetl.execution x
                   join noetl.plan_step p on p.plan_id = x.plan_id and p.idx = e.idx
                  where x.id = e.execution_id), '#' || e.idx),
       e.item, e.attempt, e.worker, e.ready_at, e.leased_at, e.data
  from noetl.event e
  join noetl.event_kind k on k.kind = e.kind
 where e.id >= %(first)s and e.id <= %(last)s
   and exists (select from unnest(%(firsts)s::bigint[], %(lasts)s::bigint[]) as g (first, last)
                where e.id between g.first and g.last)
 order by e.id;

-- name: newest
select case when is_called then last_value else 0 end from noetl.event_id;

-- name: numbers
select id from noetl.event where id > %(after)s and id <= %(top)s order by id;
