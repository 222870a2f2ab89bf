-- name: keep
-- One that is there already is named again, so it is as young as this.
insert into noetl.payload (digest, content) values (%(digest)s, %(content)s)
on conflict (digest) do update set created_at = clock_timestamp();
