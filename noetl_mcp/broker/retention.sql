-- name: old
-- Ended long ago, and nobody who is still there may ask for them: whoever started them, directly or
-- through others, is as old or gone. In the order of their numbers, which is nearly that of age.
select e.id from noetl.execution e
 where e.id > %(after)s and e.status <> 0
   and e.ended_at < clock_timestamp() - make_interval(secs => %(age)s)
   and not exists (
       with recursive above (status, ended_at, parent) as (
           select p.status, p.ended_at, p.parent_execution
             from noetl.execution p where p.id = e.parent_execution
           union all
           select p.status, p.ended_at, p.parent_execution
             from above a join noetl.execution p on p.id = a.parent)
       select from above a
        where a.status = 0
           or a.ended_at >= clock_timestamp() - make_interval(secs => %(age)s))
 order by e.id limit %(most)s;

-- name: lock_old
-- One that was retried meanwhile is not over any more; one that somebody decides about is left.
select id from noetl.execution
 where id = any(%(ids)s) and status <> 0 order by id for update skip locked;

-- name: remove_steps
delete from noetl.step where execution_id = any(%(ids)s);

-- name: remove_signals
delete from noetl.signal where execution_id = any(%(ids)s);

-- name: remove_fans
delete from noetl.fan where execution_id = any(%(ids)s);

-- name: remove_hints
delete from noetl.ready where execution_id = any(%(ids)s);

-- name: remove_timers
delete from noetl.timer where execution_id = any(%(ids)s);

-- name: remove_halts
delete from noetl.halt where execution_id = any(%(ids)s);

-- name: remove_waiting
delete from noetl.waiting where execution_id = any(%(ids)s);

-- name: remove_end_calls
delete from noetl.end_call where execution_id = any(%(ids)s);

-- name: remove_executions
delete from noetl.execution where id = any(%(ids)s);

-- name: remove_payloads
-- What nothing that is kept names any more. The log does not keep a large result alive, but what
-- somebody asked it to keep.
delete from noetl.payload p
 where p.created_at < clock_timestamp() - make_interval(secs => %(age)s)
   and not exists (
       select from (
           select e.payload as kept from noetl.execution e where e.payload like '@%%'
           union all select e.result from noetl.execution e where e.result like '@%%'
           union all select s.result from noetl.step s where s.result like '@%%'
           union all select s.answer from noetl.step s where s.answer like '@%%'
           union all select s.note from noetl.step s where s.note like '@%%'
           union all select c.result from noetl.cached c where c.result like '@%%'
           union all select c.result from noetl.end_call c where c.result like '@%%'
           union all select '@' || (v.data::json ->> 'data_ref') from noetl.event v
                      where v.kind = 30 and v.data like '{"data_ref"%%') k
        where k.kept = '@' || p.digest);
