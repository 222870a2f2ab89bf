-- Which steps take longest, over all their attempts?
with own as ( -- an attempt whose lease was lost counts from its last begin
    select playbook, step, type,
           epoch(max(ts) filter (kind in ('step_completed', 'step_failed', 'step_cancelled',
                                          'step_dead', 'action_retry', 'loop_iteration'))
                 - max(leased_at) filter (kind = 'step_started')) as seconds
      from events
     where idx is not null and attempt > 0
     group by execution_id, playbook, idx, step, type, item, round, attempt)
select playbook, step, type, count(*) as attempts, round(avg(seconds), 3) as mean,
       round(quantile_cont(seconds, 0.95), 3) as p95, round(max(seconds), 3) as longest,
       round(sum(seconds), 1) as total
  from own
 where seconds >= 0
 group by playbook, step, type
 order by p95 desc, playbook, step
 limit 30
