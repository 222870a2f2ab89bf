-- name: create
-- A revoked or expired token gives its name free.
insert into noetl.token (name, role, digest, expires_at)
values (%(name)s, %(role)s, %(digest)s, clock_timestamp() + make_interval(secs => %(seconds)s))
on conflict (name) do update
   set role = excluded.role, digest = excluded.digest, expires_at = excluded.expires_at,
       created_at = clock_timestamp(), revoked_at = null
 where noetl.token.revoked_at is not null or noetl.token.expires_at < clock_timestamp()
returning id;

-- name: list
select name, role, created_at, expires_at, revoked_at,
       revoked_at is null and (expires_at is null or expires_at > clock_timestamp()) as holds
  from noetl.token order by name;

-- name: revoke
update noetl.token set revoked_at = clock_timestamp()
 where name = %(name)s and revoked_at is null
returning id;

-- name: known
-- Only what holds now.
select name, role from noetl.token
 where digest = %(digest)s and revoked_at is null
   and (expires_at is null or expires_at > clock_timestamp());

-- name: any
select exists (select from noetl.token
                where revoked_at is null
                  and (expires_at is null or expires_at > clock_timestamp()));
