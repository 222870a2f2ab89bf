-- Which executions took longest?
select id, playbook, version, status, started, round(seconds, 3) as seconds
  from executions
 where ended is not null
 order by seconds desc, id
 limit 30
