-- name: letters
-- Steps that ended every worker that ran them. Their execution says so: only such ones are looked
-- into. The newest first.
select s.execution_id, e.path, s.idx, s.item, s.attempt, s.crashes, s.error, s.ended_at, e.plan_id
  from noetl.execution e
  join noetl.step s on s.execution_id = e.id and s.state = 7
 where e.status in (2, 3) and e.error like '%%"poison"%%'
   and (%(id)s::bigint is null or e.id = %(id)s)
 order by s.execution_id desc, s.idx, s.item
 limit %(most)s;

-- name: drop
-- It stays a failure, and is listed no more.
update noetl.step set state = 4
 where execution_id = %(id)s and state = 7
returning idx, item, attempt;
