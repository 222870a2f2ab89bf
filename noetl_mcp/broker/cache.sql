-- name: former
-- As old as the one who asks allows, and as the one who kept it did. A large result that is gone is
-- not known any more.
select coalesce(p.content, c.result), c.execution_id
  from noetl.cached c left join noetl.payload p on p.digest = substr(c.result, 2)
 where c.key = %(key)s
   and (c.expires_at is null or c.expires_at > clock_timestamp())
   and (%(ttl)s::double precision is null
        or c.made_at > clock_timestamp() - make_interval(secs => %(ttl)s::double precision))
   and (c.result not like '@%%' or p.digest is not null);

-- name: keep
-- Of several who were asked the same at once the last one counts.
insert into noetl.cached (key, result, execution_id, expires_at)
values (%(key)s, %(result)s, %(execution_id)s,
        clock_timestamp() + make_interval(secs => %(ttl)s::double precision))
on conflict (key) do update
   set result = excluded.result, execution_id = excluded.execution_id,
       made_at = clock_timestamp(), expires_at = excluded.expires_at;

-- name: forget
delete from noetl.cached
 where expires_at < clock_timestamp()
    or made_at < clock_timestamp() - make_interval(secs => %(age)s::double precision);
