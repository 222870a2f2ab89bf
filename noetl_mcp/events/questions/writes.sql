-- Which steps write, how often, and how do their attempts end?
with sent as ( -- a doubt that was resolved is one all the same
    select execution_id, idx, item, round, attempt, bool_or(kind = 'step_in_doubt') as was_in_doubt
      from events
     where kind in ('action_started', 'step_in_doubt')
     group by all
    having bool_or(kind = 'action_started'))
select a.playbook, a.step, a.type, count(*) as writes,
       count(*) filter (a.outcome = 'step_completed') as done,
       count(*) filter (a.outcome = 'step_failed') as failed,
       count(*) filter (s.was_in_doubt) as in_doubt
  from attempts a
  join sent s on s.execution_id = a.execution_id and s.idx = a.idx
             and s.item is not distinct from a.item and s.round = a.round and s.attempt = a.attempt
 group by a.playbook, a.step, a.type
 order by writes desc, a.playbook, a.step
