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

-- name: ended
-- Outlives the worker's own row: whoever decides about its doubts asks for it.
insert into noetl.ended_life (worker) values (%(id)s) on conflict do nothing;

-- name: forget_ended
-- By then every request is older than any that may still arrive.
delete from noetl.ended_life where at < clock_timestamp() - interval '7 days';

-- name: leave
with gone as (delete from noetl.worker where id = %(id)s and epoch = %(epoch)s returning id)
delete from noetl.held where worker in (select id from gone);
