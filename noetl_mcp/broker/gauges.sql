-- name: executions
-- How many executions stand how; paused ones are running ones that are halted.
select e.status, count(*) from noetl.execution e group by 1;

-- name: halted
select kind, count(*) from noetl.halt group by 1;

-- name: steps
-- The steps that are at work or wait for something, by how they stand.
select s.state, count(*) from noetl.waiting w
  join noetl.step s on s.execution_id = w.execution_id and s.state in (8, 9, 10)
 group by 1
union all
select 2, count(*) from noetl.worker w cross join lateral noetl.held_1(w.id) having count(*) > 0;

-- name: queues
select pool, count(*) from noetl.ready group by 1;

-- name: oldest
-- Of each queue the age of the step that is next.
select l.pool, max(extract(epoch from clock_timestamp() - s.ready_at))
  from (select distinct pool, rank from noetl.lane) l
 cross join lateral (select r.execution_id, r.idx, r.item from noetl.ready r
                      where r.pool = l.pool and r.rank = l.rank order by r.id limit 1) r
  join noetl.step s on s.execution_id = r.execution_id and s.idx = r.idx and s.item = r.item
 group by 1;

-- name: tally
select name, total from noetl.tally;

-- name: timers
select count(*), coalesce(extract(epoch from clock_timestamp() - min(due)), 0) from noetl.timer;

-- name: totals
-- Sequences only rise, so they count without being counted.
select (select case when is_called then last_value else 0 end from noetl.execution_id),
       (select case when is_called then last_value else 0 end from noetl.event_id),
       (select xact_commit from pg_stat_database where datname = current_database()),
       (select deadlocks from pg_stat_database where datname = current_database()),
       (select coalesce(max(age(backend_xmin)), 0) from pg_stat_activity
         where datname = current_database()),
       (select coalesce(extract(epoch from clock_timestamp() - min(xact_start)), 0)
          from pg_stat_activity where datname = current_database()
           and pid <> pg_backend_pid()),
       pg_database_size(current_database());
