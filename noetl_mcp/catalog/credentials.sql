-- name: put
-- Setting a credential again replaces it as a whole.
insert into noetl.credential (name, type, sealed, key_id, updated_at)
values (%(name)s, %(type)s, %(sealed)s, %(key_id)s, clock_timestamp())
on conflict (name) do update
   set type = excluded.type, sealed = excluded.sealed, key_id = excluded.key_id,
       updated_at = excluded.updated_at;

-- name: get
select type, sealed, key_id from noetl.credential where name = %(name)s;

-- name: names
-- What may be shown: everything but the values.
select name, type, key_id, updated_at from noetl.credential order by name;

-- name: delete
delete from noetl.credential where name = %(name)s;

-- name: sealed_otherwise
-- What still is under an older key.
select name, type, sealed, key_id from noetl.credential where key_id <> %(key_id)s order by name;

-- name: reseal
-- Somebody may have set it anew since it was read; then it is left as it is.
update noetl.credential set sealed = %(sealed)s, key_id = %(key_id)s
 where name = %(name)s and sealed = %(was)s;
