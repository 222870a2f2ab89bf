-- How often is each playbook run, how does it end, and how long does it take?
select playbook, count(*) as executions, count(*) filter (status = 'completed') as completed,
       count(*) filter (status = 'failed') as failed,
       count(*) filter (status = 'cancelled') as cancelled,
       count(*) filter (status = 'running') as running,
       round(quantile_cont(seconds, 0.5), 3) as median,
       round(quantile_cont(seconds, 0.95), 3) as p95, max(started) as last
  from executions
 group by playbook
 order by executions desc, playbook
