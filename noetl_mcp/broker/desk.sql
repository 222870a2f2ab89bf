-- name: lock
-- Whoever ends an execution, or begins it again, waits for whoever decides about it.
select id from noetl.execution where id = %(id)s for update;

-- name: standing
select e.status, e.outcome, e.round, h.kind, e.ended_at is not null
  from noetl.execution e left join noetl.halt h on h.execution_id = e.id
 where e.id = %(id)s;

-- name: tell
insert into noetl.event (kind, execution_id, idx, item, attempt, data)
select k.kind, %(execution_id)s, %(idx)s::integer, %(item)s::bigint, %(attempt)s::integer, %(data)s
  from noetl.event_kind k where k.name = %(kind)s;

-- name: notify
-- Workers that listen stop what runs; all others find out with their next beat.
select pg_notify('noetl_halt', %(told)s);

-- name: wake
select noetl.wake_1(0, %(count)s);

-- name: sleeping
select pools from noetl.worker where asleep and gone_at is null;

-- name: audit
insert into noetl.audit (who, whence, action, target, keys, reason)
values (%(who)s, %(whence)s, %(action)s, %(target)s, %(keys)s, %(reason)s)
returning id;

-- name: audit_outcome
update noetl.audit set outcome = %(outcome)s where id = %(id)s;
