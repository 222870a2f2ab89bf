-- name: next
-- In how many seconds the next address is to be called.
select extract(epoch from min(c.due) - clock_timestamp())::double precision
  from noetl.end_call c
 where c.due is not null
   and (%(only)s::bigint[] is null or c.execution_id = any(%(only)s::bigint[]));

-- name: claim
-- Whoever claims a call and dies leaves it to others after a while.
with due as materialized (
    select c.execution_id, c.round from noetl.end_call c
     where c.due <= clock_timestamp()
       and (%(only)s::bigint[] is null or c.execution_id = any(%(only)s::bigint[]))
     order by c.due limit %(most)s
       for update skip locked),
claimed as (
    update noetl.end_call c
       set tries = c.tries + 1, due = clock_timestamp() + make_interval(secs => %(lease)s)
      from due d
     where c.execution_id = d.execution_id and c.round = d.round
    returning c.execution_id, c.round, c.url, c.tries, c.status, c.result, c.error, c.ended_at)
select c.execution_id, c.round, c.url, c.tries, c.status, coalesce(p.content, c.result), c.error,
       c.ended_at, e.path, e.version
  from claimed c join noetl.execution e on e.id = c.execution_id
  left join noetl.payload p on p.digest = substr(c.result, 2) and c.result like '@%%';

-- name: over
-- It was called, or is given up; the log says which.
with gone as (
    delete from noetl.end_call
     where execution_id = %(id)s and round = %(round)s
    returning execution_id)
insert into noetl.event (kind, execution_id, data)
select k.kind, g.execution_id, %(data)s from gone g join noetl.event_kind k on k.name = 'log';

-- name: later
-- One that somebody else has claimed meanwhile is his.
update noetl.end_call
   set due = clock_timestamp() + make_interval(secs => %(delay)s), said = %(said)s
 where execution_id = %(id)s and round = %(round)s and tries = %(tries)s;

-- name: waiting
-- Calls of an execution that are still to be made.
select round, url, due, tries, said from noetl.end_call
 where execution_id = %(id)s and due is not null order by round;
