-- name: execution
select e.id, e.plan_id, e.path, e.version, e.status, h.kind, e.round, e.parent_execution,
       e.rerun_of, e.key, e.labels, e.result, e.error, e.created_at, e.ended_at, h.said_by,
       h.reason
  from noetl.execution e left join noetl.halt h on h.execution_id = e.id
 where e.id = %(id)s;

-- name: steps
-- What was decided of the execution's own steps, and with `items` of all items too.
select s.idx, s.item, s.state, s.attempt, s.ready_at, s.leased_at, s.ended_at, s.owner,
       s.answer is not null
  from noetl.step s
 where s.execution_id = %(id)s and s.state > 0 and (%(items)s or s.item = 0)
 order by s.idx, s.item
 limit %(most)s;

-- name: began
-- By whom a step was done last, and when it began after it was ready. What a further round found
-- parked, such as an iterator with items to be done again, began with the round.
select e.idx, e.item,
       (array_agg(e.worker order by e.id desc) filter (where e.worker is not null))[1],
       case when (array_agg(k.name order by e.id)
                  filter (where e.leased_at >= s.ready_at))[1] = 'step_resumed' then s.ready_at
            else min(e.leased_at) filter (where e.leased_at >= s.ready_at) end
  from noetl.event e
  join noetl.event_kind k on k.kind = e.kind
  join noetl.step s
    on s.execution_id = e.execution_id and s.idx = e.idx and s.item = e.item
 where e.execution_id = %(id)s and (%(items)s or e.item = 0)
   and k.name in ('step_started', 'step_resumed')
 group by e.idx, e.item, s.ready_at;

-- name: attention
-- What somebody is to decide: doubts, and approvals and answers that nobody gave so far.
select s.idx, s.item, s.state, s.lease, s.note, s.error, g.arrived is not null
  from noetl.step s
  left join noetl.signal g
    on g.execution_id = s.execution_id and g.idx = s.idx and g.item = s.item
 where s.execution_id = %(id)s
   and (s.state = 10 or (s.state = 9 and (s.note like '{"approve"%%' or s.note like '{"callback"%%')))
 order by s.idx, s.item
 limit %(most)s;

-- name: step
select s.idx, s.item, s.state, s.attempt, s.ready_at, s.leased_at, s.ended_at, s.owner,
       s.answer is not null, s.lease, s.crashes, s.toward, s.live, s.result, s.error, s.extra,
       s.note, s.answer
  from noetl.step s
 where s.execution_id = %(id)s and s.idx = %(idx)s and s.item = %(item)s;

-- name: item_states
-- How many items of an iterator stand how, by the step of its body.
select s.idx, s.state, count(*) from noetl.step s
 where s.execution_id = %(id)s and s.idx = any(%(idxs)s) and s.item between %(first)s and %(last)s
 group by s.idx, s.state order by s.idx, s.state;

-- name: item_steps
select s.idx, s.item, s.state, s.attempt, s.ready_at, s.leased_at, s.ended_at, s.owner,
       s.answer is not null
  from noetl.step s
 where s.execution_id = %(id)s and s.idx = any(%(idxs)s) and s.item between %(first)s and %(last)s
 order by s.item, s.idx
 limit %(most)s;

-- name: item
-- Whether anything is done, or was, for an item.
select from noetl.step s
 where s.execution_id = %(id)s and s.idx = any(%(idxs)s) and s.item = %(item)s limit 1;

-- name: fan
select total, next, live, failed, tolerate from noetl.fan
 where execution_id = %(id)s and idx = %(idx)s and item = %(item)s;
