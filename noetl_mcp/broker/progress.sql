-- name: execution
-- How an execution stands, and what it is made of.
select e.status, e.outcome, e.path, e.version, e.plan_id, h.kind, e.created_at, e.ended_at
  from noetl.execution e left join noetl.halt h on h.execution_id = e.id
 where e.id = %(id)s;

-- name: plan
select content from noetl.plan where id = %(plan)s;

-- name: steps
-- What stands outside of iterators, and what inside of them waits for a person. What was tried
-- again or had to wait began when it was ready, not with its last lease.
select idx, item, state, attempt, ready_at,
       case when before in (8, 9) then ready_at else leased_at end, ended_at, error, note
  from noetl.step
 where execution_id = %(id)s and state > 0 and (item = 0 or state in (9, 10));

-- name: fans
-- How far iterators are.
select idx, total, next - live, failed from noetl.fan where execution_id = %(id)s and item = 0;

-- name: told
-- What was printed, and when something is tried again.
select id, kind, idx, item, attempt, data from noetl.event
 where execution_id = %(id)s and id > %(after)s and kind in (14, 35)
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
