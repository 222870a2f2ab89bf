-- How long do attempts take, by type of step?
select type, count(*) as attempts, round(quantile_cont(seconds, 0.5), 4) as median,
       round(quantile_cont(seconds, 0.95), 4) as p95, round(max(seconds), 3) as longest
  from attempts
 where seconds is not null
 group by type
 order by p95 desc, type
