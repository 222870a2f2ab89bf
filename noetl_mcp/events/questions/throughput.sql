-- How many steps were finished in each minute of the last hours?
select date_trunc('minute', ts) as minute,
       count(*) filter (kind = 'step_completed') as completed,
       count(*) filter (kind = 'step_failed') as failed,
       count(*) filter (kind = 'execution_completed') as executions
  from events
 where kind in ('step_completed', 'step_failed', 'execution_completed')
 group by minute
 order by minute desc
 limit 240
