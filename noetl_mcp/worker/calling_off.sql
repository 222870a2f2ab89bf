-- name: call_off
select noetl.call_off_1(%(id)s, %(idx)s, %(item)s, %(idxs)s, %(lane)s);

-- name: is_closed
select closed from noetl.fan
 where execution_id = %(id)s and idx = %(idx)s and item = %(item)s;
