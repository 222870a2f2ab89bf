-- What is parked, and for what: a child, a time, an event, items?
select s.execution_id, s.playbook, s.step, s.item, n.since,
       case when (n.note -> '$.child') is not null then 'child ' || (n.note ->> '$.child')
            when (n.note -> '$.event') is not null then 'event ' || (n.note ->> '$.event')
            when (n.note -> '$.approve') is not null then 'approval'
            when (n.note -> '$.callback') is not null then 'answer'
            when (n.note -> '$.until') is not null then 'time'
            else 'items' end as waits_for,
       n.note ->> '$.until' as until
  from steps s
  join (select execution_id, idx, item, arg_max(data -> '$.note', id) as note, max(ts) as since
          from events
         where kind = 'step_parked'
         group by execution_id, idx, item) n
    on n.execution_id = s.execution_id and n.idx = s.idx and n.item is not distinct from s.item
  join executions x on x.id = s.execution_id and x.status = 'running'
 where s.state = 'parked'
 order by n.since
