-- When do executions fail?
select date_trunc('hour', ended) as hour, playbook, count(*) as failed
  from executions
 where status = 'failed'
 group by hour, playbook
 order by hour desc, failed desc, playbook
 limit 100
