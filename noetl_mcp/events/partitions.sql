-- name: due
select make, remove from noetl.log_due_1(%(ahead)s, %(keep)s);

-- name: make
select said, moved from noetl.log_make_1(%(day)s, %(most)s);

-- name: remove
select noetl.log_remove_1(%(day)s);

-- name: astray
select noetl.log_astray_1(%(most)s);

-- name: needed
select noetl.log_needed_1(%(day)s);
