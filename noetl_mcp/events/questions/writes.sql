-- Which steps write, how often, and how do their attempts end?
select a.playbook, a.step, a.type, count(*) as writes,
       count(*) filter (a.outcome = 'step_completed') as done,
       count(*) filter (a.outcome = 'step_failed') as failed,
       count(*) filter (a.outcome = 'step_in_doubt') as in_doubt
  from attempts a
 where exists (select 1 from events e
                where e.execution_id = a.execution_id and e.idx = a.idx
                  and e.item is not distinct from a.item and e.attempt = a.attempt
                  and e.kind = 'action_started')
 group by a.playbook, a.step, a.type
 order by writes desc, a.playbook, a.step
