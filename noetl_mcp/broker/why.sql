-- name: steps
-- Whatever has begun to be decided and is not settled. Of items only those at work.
with due as materialized (
    select t.idx, t.item, min(t.due) as due from noetl.timer t
     where t.execution_id = %(id)s group by t.idx, t.item)
select s.idx, s.item, s.state, s.note, s.owner, s.ready_at, s.leased_at, s.lane, s.crashes, s.error,
       d.due, g.waits, g.arrived is not null, g.token
  from noetl.step s
  left join due d on d.idx = s.idx and d.item = s.item
  left join noetl.signal g
    on g.execution_id = s.execution_id and g.idx = s.idx and g.item = s.item
 where s.execution_id = %(id)s and s.state in (0, 1, 2, 8, 9, 10)
   and (s.item = 0 or s.state > 0)
 order by s.item > 0, s.idx, s.item
 limit %(most)s;

-- name: own
-- How the steps of one scope stand, as far as others hear of them.
select s.idx, s.state, s.error, case when s.extra like '%%"took"%%' then s.extra end
  from noetl.step s where s.execution_id = %(id)s and s.item = %(item)s;

-- name: lanes
select id, pool, limits, maxes from noetl.lane where id = any(%(ids)s);

-- name: workers
-- Those that were heard of lately, by the clock of the database.
select id, name, pools from noetl.worker
 where gone_at is null and seen_at > clock_timestamp() - make_interval(secs => %(lease)s)
 order by id;

-- name: heard
select seen_at from noetl.worker where id = %(id)s;

-- name: holders
-- Who holds the permits of limits, by name.
select p.name, p.execution_id, p.idx, p.item, s.name
  from noetl.permit p
  left join noetl.execution e on e.id = p.execution_id
  left join noetl.plan_step s on s.plan_id = e.plan_id and s.idx = p.idx
 where p.name = any(%(names)s)
 order by p.name, p.execution_id, p.idx, p.item limit 200;

-- name: halt
select kind, reason, said_by, at from noetl.halt where execution_id = %(id)s;

-- name: child
select status, (select h.kind from noetl.halt h where h.execution_id = e.id)
  from noetl.execution e where e.id = %(id)s;

-- name: fan
select total, next, live from noetl.fan
 where execution_id = %(id)s and idx = %(idx)s and item = %(item)s;
