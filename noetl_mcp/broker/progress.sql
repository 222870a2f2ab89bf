-- name: execution
-- How an execution stands, and what it is made of.
select e.status, e.outcome, e.path, e.version, e.plan_id, h.kind, e.created_at, e.ended_at
  from noetl.execution e left join noetl.halt h on h.execution_id = e.id
 where e.id = %(id)s;

-- name: begun
-- The retry with which the present round began.
select id, ts from noetl.event
 where execution_id = %(id)s and kind = 7
   and exists (select from noetl.execution e where e.id = %(id)s and e.round > 1)
 order by id desc limit 1;

-- name: plan
select content from noetl.plan where id = %(plan)s;

-- name: steps
-- What stands outside of iterators, and what inside of them waits for a person. What was tried
-- again or had to wait began when it was ready, not with its last lease.
select s.idx, s.item, s.state, s.attempt, s.ready_at,
       case when s.before in (8, 9) then s.ready_at else s.leased_at end, s.ended_at, s.error, s.note,
       s.state = 9 and exists (
           select from noetl.signal g
            where g.execution_id = s.execution_id and g.idx = s.idx and g.item = s.item
              and g.arrived is not null)
  from noetl.step s
 where s.execution_id = %(id)s and s.state > 0 and (s.item = 0 or s.state in (9, 10));

-- name: began
-- When each step that is over began after it was ready, also where its first worker was lost. All
-- events are looked through, so it is asked once, at the end; `show` asks the same.
select e.idx,
       case when (array_agg(k.name order by e.id))[1] = 'step_resumed' then s.ready_at
            else min(e.leased_at) end
  from noetl.event e
  join noetl.event_kind k on k.kind = e.kind
  join noetl.step s
    on s.execution_id = e.execution_id and s.idx = e.idx and s.item = e.item
 where e.execution_id = %(id)s and e.item = 0 and e.leased_at >= s.ready_at
   and k.name in ('step_started', 'step_resumed')
 group by e.idx, s.ready_at;

-- name: fans
-- How far iterators are.
select idx, total, next - live, failed from noetl.fan where execution_id = %(id)s and item = 0;

-- name: told
-- What was printed, when something is tried again, and when a doubt is settled.
select id, kind, idx, item, attempt, data from noetl.event
 where execution_id = %(id)s and id > %(after)s and kind in (14, 22, 35)
 order by id limit 500;

-- name: pools
-- Where steps of an execution wait for somebody to take them.
select distinct pool from noetl.ready where execution_id = %(id)s;

-- name: family
-- An execution and everything that was started for it.
with recursive family as (
    select id from noetl.execution where id = %(id)s
    union
    select e.id from noetl.execution e join family f on e.parent_execution = f.id)
select id from family;

-- name: last_words
-- What a step printed last.
select data from noetl.event
 where execution_id = %(id)s and idx = %(idx)s and item = %(item)s and kind = 35
 order by id desc limit %(most)s;
