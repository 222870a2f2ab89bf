-- name: contexts
-- What a worker must know of executions beside their plan.
select id, plan_id, payload, path, version, key, priority, labels, pins, parent_execution,
       parent_idx, parent_item, round, outcome, on_end, status, created_at
  from noetl.execution
 where id = any(%(ids)s);

-- name: plan
-- A plan never changes, so whoever has read it keeps it.
select content from noetl.plan where id = %(id)s;

-- name: add_lanes
-- Lanes are few and never removed; asking for one makes it.
insert into noetl.lane (pool, rank, limits, maxes, writes)
select distinct pool, rank, limits::text[], maxes::integer[], writes
  from unnest(%(pools)s::text[], %(ranks)s::smallint[], %(limits)s::text[], %(maxes)s::text[],
              %(writes)s::smallint[]) as a (pool, rank, limits, maxes, writes)
 order by 1, 2, 3, 4, 5
on conflict do nothing;

-- name: find_lanes
select id, pool, rank, limits, maxes, writes from noetl.lane where pool = any(%(pools)s);

-- name: outcomes
-- One row for each that is there; the caller names the rest unknown.
select s.execution_id, s.idx, s.item, s.state, s.result, s.error, s.extra, s.note
  from unnest(%(execs)s::bigint[], %(idxs)s::integer[], %(items)s::bigint[])
       as k (exec, idx, item)
  join noetl.step s on s.execution_id = k.exec and s.idx = k.idx and s.item = k.item;

-- name: items
-- The steps of an iterator's items.
select idx, item, state, result, error, extra, note from noetl.step
 where execution_id = %(execution_id)s and idx = any(%(idxs)s)
   and item between %(first)s and %(last)s;

-- name: fan
select total, next, live, failed, tolerate, closed from noetl.fan
 where execution_id = %(execution_id)s and idx = %(idx)s and item = %(item)s;

-- name: signal
select arrived, said_by from noetl.signal
 where execution_id = %(execution_id)s and idx = %(idx)s and item = %(item)s;

-- name: ended
select status, result, error from noetl.execution where id = %(id)s;

-- name: payload
select content from noetl.payload where digest = %(digest)s;

-- name: close
select said, parent from noetl.close_1(%(id)s, %(idxs)s::integer[], %(lanes)s::integer[]);

-- name: halted
-- Those that are to end; paused ones wait for a person.
select h.execution_id, e.plan_id, h.kind, h.reason from noetl.halt h
  join noetl.execution e on e.id = h.execution_id
 where h.kind > 1;

-- name: seal
select secret from noetl.seal;

-- name: note
-- Only the holder of the lease writes into its note.
update noetl.step set note = %(note)s
 where execution_id = %(execution_id)s and idx = %(idx)s and item = %(item)s
   and state = 2 and owner = %(worker)s and lease = %(lease)s
returning idx;

-- name: find_playbook
select p.plan_id, p.version, l.content
  from noetl.playbook p join noetl.plan l on l.id = p.plan_id
 where p.path = %(path)s and (%(version)s::integer is null or p.version = %(version)s)
 order by p.version desc limit 1;
