-- name: step
-- Locked, so that it stays as it is until the answer is kept.
select s.state, s.note, g.arrived is not null, g.said_by, g.arrived_at
  from noetl.step s
  left join noetl.signal g
    on g.execution_id = s.execution_id and g.idx = s.idx and g.item = s.item
 where s.execution_id = %(id)s and s.idx = %(idx)s and s.item = %(item)s
   for update of s;

-- name: answer
select noetl.answer_1(%(id)s, %(idx)s, %(item)s, %(text)s, %(by)s);

-- name: by_token
-- Names of events are no secrets, so they open nothing here.
select execution_id, idx, item from noetl.signal
 where token = %(token)s and token not like 'event:%%';

-- name: listening
-- The steps of an execution that wait for an event and were not told yet.
select g.idx, g.item, g.token, s.note from noetl.signal g
  join noetl.step s on s.execution_id = g.execution_id and s.idx = g.idx and s.item = g.item
 where g.execution_id = %(id)s and g.waits and g.arrived is null and s.state = 9
   and g.token like 'event:%%'
 order by g.idx, g.item;

-- name: began
select idx, state from noetl.step
 where execution_id = %(id)s and idx = any(%(idxs)s) and item = 0;
