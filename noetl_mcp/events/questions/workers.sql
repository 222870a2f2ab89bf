-- What did each worker do?
select worker, count(*) as attempts, count(distinct execution_id) as executions,
       round(sum(seconds), 1) as busy_seconds, min(started) as first, max(ended) as last,
       count(*) filter (outcome = 'lease_lost') as lost
  from attempts
 where worker is not null
 group by worker
 order by attempts desc, worker
 limit 100
