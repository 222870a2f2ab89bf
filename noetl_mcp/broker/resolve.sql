-- name: doubt
-- Locked, so that one resolution counts. A step whose worker was lost still names it, or says so.
select s.state, s.lease, s.attempt,
       s.owner is not null or coalesce(s.error like '%%"code":"worker-lost"%%', false),
       exists (select from noetl.ended_life l where l.worker = s.owner),
       extract(epoch from clock_timestamp() - (
           select max(e.ts) from noetl.event e
            where e.execution_id = s.execution_id and e.idx = s.idx and e.item = s.item
              and e.kind = (select k.kind from noetl.event_kind k where k.name = 'step_in_doubt')))
  from noetl.step s
 where s.execution_id = %(id)s and s.idx = %(idx)s and s.item = %(item)s
   for update of s;

-- name: settle
-- Only the very doubt that was meant. A note that only says "armed" holds nothing to go on from.
-- Who judges an answer makes no further attempt, and writes nothing.
update noetl.step
   set state = %(state)s, answer = %(answer)s, error = %(error)s, owner = null,
       lane = coalesce(%(lane)s, lane), attempt = %(attempt)s,
       note = case when note like '{"armed"%%' then null else note end,
       ready_at = case when %(state)s = 1 then clock_timestamp() else ready_at end,
       ended_at = case when %(state)s = 4 then clock_timestamp() end
 where execution_id = %(id)s and idx = %(idx)s and item = %(item)s
   and state = 10 and lease = %(lease)s
returning 1;

-- name: free
delete from noetl.permit
 where execution_id = %(id)s and idx = %(idx)s and item = %(item)s;

-- name: queue
-- One that ended two workers is done by a worker that holds nothing else.
insert into noetl.ready (pool, rank, execution_id, idx, item)
select case when s.crashes >= 2 then '!alone' || l.pool else l.pool end, l.rank,
       s.execution_id, s.idx, s.item
  from noetl.step s join noetl.lane l on l.id = s.lane
 where s.execution_id = %(id)s and s.idx = %(idx)s and s.item = %(item)s;

-- name: item_over
select spilled from noetl.fan_turn_1(0, %(id)s, %(idx)s, %(item)s, 1, 1, %(lane)s, 0, %(halted)s,
                                     clock_timestamp());

-- name: fail
insert into noetl.halt as h (execution_id, kind, reason, said_by)
values (%(id)s, 2, %(reason)s, %(by)s)
on conflict (execution_id) do update
   set kind = greatest(h.kind, excluded.kind), reason = coalesce(h.reason, excluded.reason);
