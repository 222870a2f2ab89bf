-- name: workers
-- Those that have not left; whoever was not heard for a whole lease is taken for gone.
select id, beat, name, pools, host, pid, started_at,
       seen_at > clock_timestamp() - make_interval(secs => %(lease)s) as heard
  from noetl.worker where gone_at is null
 order by id;
