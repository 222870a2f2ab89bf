-- name: executions
-- The newest first; `before` goes on where a former page ended.
select e.id, e.path, e.version, e.status, h.kind, e.round, e.parent_execution, e.rerun_of, e.key,
       e.labels, e.error, e.created_at, e.ended_at, e.plan_id,
       h.said_by, h.reason
  from noetl.execution e
  left join noetl.halt h on h.execution_id = e.id
 where (%(before)s::bigint is null or e.id < %(before)s)
   and (%(status)s::smallint is null or e.status = %(status)s)
   and (%(paused)s::boolean is null or (h.kind is not distinct from 1::smallint) = %(paused)s)
   and (%(path)s::text is null or e.path = %(path)s or e.path like %(below)s)
   and (%(label)s::text is null or e.labels::jsonb @> %(label)s::jsonb)
   and (%(parent)s::bigint is null or e.parent_execution = %(parent)s)
   and (not %(roots)s or e.parent_execution is null)
   and (not %(attention)s or e.status = 0 and (e.id = any (%(forsaken)s::bigint[]) or e.id in (
       select w.execution_id from noetl.waiting w
        where exists (
            select from noetl.step s
             where s.execution_id = w.execution_id
               and (s.state = 10 or s.state = 9 and (s.note like '{"approve"%%'
                                                     or s.note like '{"callback"%%'))
               and not exists (select from noetl.signal g
                                where g.execution_id = s.execution_id and g.idx = s.idx
                                  and g.item = s.item and g.arrived is not null)))))
 order by e.id desc
 limit %(most)s;

-- name: attention
-- What somebody is to decide in some executions: a few things of each, and how many there are.
select w.execution_id, a.idx, a.item, a.state, a.lease, a.note, a.error, a.total
  from noetl.waiting w
 cross join lateral (
     select s.idx, s.item, s.state, s.lease, s.note, s.error, count(*) over () as total
       from noetl.step s
      where s.execution_id = w.execution_id
        and (s.state = 10 or s.state = 9 and (s.note like '{"approve"%%'
                                              or s.note like '{"callback"%%'))
        and not exists (select from noetl.signal g
                         where g.execution_id = s.execution_id and g.idx = s.idx
                           and g.item = s.item and g.arrived is not null)
      order by s.idx, s.item
      limit %(each)s) a
 where w.execution_id = any(%(ids)s)
 order by w.execution_id, a.idx, a.item;

-- name: wanted
-- How much of what somebody is to decide there is, in executions that wait for something.
select case when s.state = 10 then 'in_doubt'
            when s.note like '{"approve"%%' then 'approval' else 'callback' end, count(*)
  from noetl.waiting w
  join noetl.step s on s.execution_id = w.execution_id
 where (s.state = 10 or s.state = 9 and (s.note like '{"approve"%%'
                                         or s.note like '{"callback"%%'))
   and not exists (select from noetl.signal g
                    where g.execution_id = s.execution_id and g.idx = s.idx
                      and g.item = s.item and g.arrived is not null)
 group by 1;
