-- name: register
insert into noetl.worker (epoch, plan_format, pools, host, boot, pid, life, name)
values (%(epoch)s, %(plan_format)s, %(pools)s, %(host)s, %(boot)s, %(pid)s, %(life)s, %(name)s)
returning id;

-- name: neighbours
select id, beat, host, boot, life, gone_at is not null from noetl.worker where id = any(%(ids)s);

-- name: give_up
-- Only with the beat that was seen; a worker that beats again meanwhile is alive.
select noetl.give_up_1(%(id)s, %(beat)s);

-- name: recover
select noetl.recover_1(%(id)s);

-- name: leave
delete from noetl.worker where id = %(id)s and epoch = %(epoch)s;
