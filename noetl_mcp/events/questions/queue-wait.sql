-- How long do steps that are ready wait for a worker?
select date_trunc('hour', ready_at) as hour, type, count(*) as attempts,
       round(avg(waited), 4) as mean, round(quantile_cont(waited, 0.95), 4) as p95,
       round(max(waited), 3) as longest
  from attempts
 where waited is not null
 group by hour, type
 order by hour desc, p95 desc, type
 limit 100
