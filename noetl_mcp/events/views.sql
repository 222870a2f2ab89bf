-- name: item_name
create macro item_name(n) as case
    when n is null or n = 0 then null
    when n < 2097152 then (n - 1)::varchar
    when n < 4398046511104 then (n // 2097152 - 1) || '.' || (n % 2097152 - 1)
    else (n // 4398046511104 - 1) || '.' || (n // 2097152 % 2097152 - 1) || '.' || (n % 2097152 - 1)
end;

-- name: executions
create table executions as
select x.id, x.path as playbook, x.version,
       ['running', 'completed', 'failed', 'cancelled'][x.status + 1] as status, x.round,
       x.created_at as started, x.ended_at as ended,
       epoch(x.ended_at - x.created_at) as seconds, x.error ->> '$.step' as error_step,
       x.error ->> '$.code' as error_code, x.error ->> '$.message' as error_message, x.key,
       x.parent_execution as parent, x.rerun_of
  from copied_executions x;

-- name: events
create table events as
select e.id, e.ts, k.name as kind, e.execution_id, x.path as playbook, e.idx, p.name as step,
       p.type, item_name(e.item) as item, coalesce(x.round, 1) as round, e.attempt, e.worker, e.ready_at, e.leased_at, e.data
  from offered_events e
  join copied_kinds k on k.kind = e.kind
  left join copied_executions x on x.id = e.execution_id
  left join copied_plan_steps p on p.plan_id = x.plan_id and p.idx = e.idx;

-- name: rounds
-- Events of a round belong to it although a later one has begun; attempts count anew in each.
update events set round = found.round
  from (with begun as (select execution_id, id, (data ->> '$.round')::integer as round
                         from events where kind = 'execution_retried'),
             first as (select execution_id, min(round) - 1 as round from begun group by all)
        select e.id, coalesce(b.round, f.round) as round
          from events e
          join first f on f.execution_id = e.execution_id
          asof left join begun b on b.execution_id = e.execution_id and b.id <= e.id) found
 where found.id = events.id;

-- name: attempts
-- One row for each attempt of each step in each round. What was waited for outside (a person, a child, a time) is
-- in `seconds` too.
create view attempts as
select execution_id, any_value(playbook) as playbook, idx, any_value(step) as step,
       any_value(type) as type, item, round, attempt,
       arg_max(kind, id) filter (kind in ('step_completed', 'step_failed', 'step_cancelled',
           'step_dead', 'action_retry', 'loop_iteration', 'step_in_doubt', 'step_parked',
           'lease_lost')) as outcome,
       min(ready_at) as ready_at, min(leased_at) as started,
       max(ts) filter (kind in ('step_completed', 'step_failed', 'step_cancelled', 'step_dead',
           'action_retry', 'loop_iteration')) as ended,
       epoch(min(leased_at) - min(ready_at)) as waited, epoch(ended - started) as seconds,
       arg_max(worker, id) as worker,
       arg_max(data ->> '$.error.code', id) filter (data is not null and kind in ('step_failed',
           'action_retry', 'step_in_doubt', 'step_dead')) as error_code
  from events
 where idx is not null and attempt > 0
 group by execution_id, idx, item, round, attempt;

-- name: steps
-- One row for each step of each execution, items of iterators apart, as it stood last.
create view steps as
select execution_id, any_value(playbook) as playbook, idx, any_value(step) as step,
       any_value(type) as type, item,
       arg_max(case kind when 'step_started' then 'leased' when 'step_resumed' then 'leased'
                         when 'step_completed' then 'done' when 'action_retry' then 'retrying'
                         when 'step_failed' then 'failed' when 'step_skipped' then 'skipped'
                         when 'step_cancelled' then 'cancelled' when 'step_parked' then 'parked'
                         when 'step_in_doubt' then 'in_doubt' when 'step_dead' then 'dead'
                         when 'step_resolved' then if((data ->> '$.state') = '4', 'failed', 'ready')
                         else 'ready' end, id) as state,
       arg_max(coalesce(attempt, 0), id) as attempts, min(ready_at) as ready_at,
       min(leased_at) as started,
       max(ts) filter (kind in ('step_completed', 'step_failed', 'step_skipped', 'step_cancelled',
           'step_dead')) as ended,
       epoch(min(leased_at) - min(ready_at)) as waited, epoch(ended - started) as seconds,
       arg_max(worker, id) as worker,
       arg_max(data ->> '$.error.code', id) filter (kind in ('step_failed', 'action_retry',
           'step_in_doubt', 'step_dead')) as error_code,
       arg_max(data ->> '$.error.message', id) filter (kind in ('step_failed', 'action_retry',
           'step_in_doubt', 'step_dead')) as error_message
  from events
 where idx is not null
   and (kind in ('step_started', 'step_resumed', 'step_completed', 'step_failed', 'step_skipped',
                 'step_cancelled', 'step_parked', 'step_in_doubt', 'step_resolved', 'step_dead',
                 'action_retry', 'lease_lost')
        or kind = 'loop_iteration' and attempt is not null)
 group by execution_id, idx, item;
