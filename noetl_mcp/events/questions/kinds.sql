-- How many events of each kind are there?
select kind, count(*) as events, min(ts) as first, max(ts) as last
  from events
 group by kind
 order by events desc, kind
