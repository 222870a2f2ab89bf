-- What waits for a person: for an approval, or to resolve a doubt?
select s.execution_id, s.playbook, s.step, s.item, s.state,
       coalesce(n.note ->> '$.approve.message', n.note ->> '$.callback.message', s.error_message)
           as says,
       n.note ->> '$.approve.who' as who, n.since, n.note ->> '$.until' as until
  from steps s
  join (select execution_id, idx, item, arg_max(data -> '$.note', id) as note, max(ts) as since
          from events
         where kind in ('step_parked', 'step_in_doubt')
         group by execution_id, idx, item) n
    on n.execution_id = s.execution_id and n.idx = s.idx and n.item is not distinct from s.item
  join executions x on x.id = s.execution_id and x.status = 'running'
 where s.state = 'in_doubt'
    or s.state = 'parked' and ((n.note -> '$.approve') is not null
                               or (n.note -> '$.callback') is not null)
 order by n.since
