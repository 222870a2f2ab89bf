-- name: executions
-- The newest first; `before` goes on where a former page ended.
select e.id, e.path, e.version, e.status, h.kind, e.round, e.parent_execution, e.rerun_of, e.key,
       e.labels, e.error, e.created_at, e.ended_at, e.plan_id
  from noetl.execution e
  left join noetl.halt h on h.execution_id = e.id
 where (%(before)s::bigint is null or e.id < %(before)s)
   and (%(status)s::smallint is null or e.status = %(status)s)
   and (%(paused)s::boolean is null or (h.kind is not distinct from 1::smallint) = %(paused)s)
   and (%(path)s::text is null or e.path = %(path)s or e.path like %(below)s)
   and (%(label)s::text is null or e.labels::jsonb @> %(label)s::jsonb)
   and (%(parent)s::bigint is null or e.parent_execution = %(parent)s)
   and (not %(roots)s or e.parent_execution is null)
 order by e.id desc
 limit %(most)s;
