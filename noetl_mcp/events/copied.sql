-- name: events
-- Read by whatever carries rows fastest; nothing here is bound, so it stands alone. Times are those
-- of UTC without saying so: whoever reads them needs no zones. What executions began with and what
-- they and their steps gave (kinds 1, 2 and 15) is most of the log, and seldom asked for.
select e.id, e.ts at time zone 'UTC' as ts, e.kind, e.execution_id, e.idx, e.item, e.attempt,
       e.worker, e.ready_at at time zone 'UTC' as ready_at,
       e.leased_at at time zone 'UTC' as leased_at,
       case when {results} or e.kind not in (1, 2, 15) then e.data end as data
  from noetl.event e
 where e.ts >= timestamptz '{since}' and e.ts < timestamptz '{until}';

-- name: executions
-- Those that were at work since then.
select x.id, x.plan_id, x.status::integer as status, x.round, x.path, x.version, x.key,
       x.parent_execution, x.rerun_of, x.created_at at time zone 'UTC' as created_at,
       x.ended_at at time zone 'UTC' as ended_at, x.error
  from noetl.execution x
 where x.ended_at is null or x.ended_at >= timestamptz '{since}';

-- name: plan_steps
select plan_id, idx, name, type from noetl.plan_step;

-- name: kinds
select kind::integer as kind, name from noetl.event_kind;
