-- Which steps take longest, over all their attempts?
select playbook, step, type, count(*) as attempts, round(avg(seconds), 3) as mean,
       round(quantile_cont(seconds, 0.95), 3) as p95, round(max(seconds), 3) as longest,
       round(sum(seconds), 1) as total
  from attempts
 where seconds is not null
 group by playbook, step, type
 order by p95 desc, playbook, step
 limit 30
