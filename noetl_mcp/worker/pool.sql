-- name: pools
-- Where sleeping workers take their steps from.
select id, pools from noetl.worker where id = any(%(ids)s);
