-- How long do attempts take, by type of step?
with own as ( -- an attempt whose lease was lost counts from its last begin
    select type,
           epoch(max(ts) filter (kind in ('step_completed', 'step_failed', 'step_cancelled',
                                          'step_dead', 'action_retry', 'loop_iteration'))
                 - max(leased_at) filter (kind = 'step_started')) as seconds
      from events
     where idx is not null and attempt > 0
     group by execution_id, idx, type, item, round, attempt)
select type, count(*) as attempts, round(quantile_cont(seconds, 0.5), 4) as median,
       round(quantile_cont(seconds, 0.95), 4) as p95, round(max(seconds), 3) as longest
  from own
 where seconds >= 0
 group by type
 order by p95 desc, type
