-- name: lock
-- Versions of one path are given out one after another.
select pg_advisory_xact_lock(hashtextextended('noetl playbook ' || %(path)s, 0));

-- name: latest
select p.version, p.content_digest, p.plan_id, l.digest
  from noetl.playbook p join noetl.plan l on l.id = p.plan_id
 where p.path = %(path)s order by p.version desc limit 1;

-- name: add_plan
insert into noetl.plan (digest, format, content) values (%(digest)s, %(format)s, %(content)s)
on conflict (digest) do update set digest = excluded.digest
returning id;

-- name: add_steps
insert into noetl.plan_step (plan_id, idx, name, type)
select %(plan)s, s.idx, s.name, s.type
  from unnest(%(idxs)s::integer[], %(names)s::text[], %(types)s::text[]) as s (idx, name, type)
on conflict do nothing;

-- name: add_playbook
insert into noetl.playbook (path, version, name, plan_id, content, content_digest, description)
values (%(path)s, %(version)s, %(name)s, %(plan)s, %(content)s, %(content_digest)s,
        %(description)s);

-- name: find
select p.path, p.version, p.name, p.plan_id, p.content, p.content_digest, p.description,
       p.created_at, l.digest as plan_digest
  from noetl.playbook p join noetl.plan l on l.id = p.plan_id
 where p.path = %(path)s and (%(version)s::integer is null or p.version = %(version)s)
 order by p.version desc limit 1;

-- name: versions
select p.version, p.created_at, p.content_digest, l.digest as plan_digest
  from noetl.playbook p join noetl.plan l on l.id = p.plan_id
 where p.path = %(path)s order by p.version desc;

-- name: paths
select distinct on (p.path) p.path, p.version, p.name, p.description, p.created_at
  from noetl.playbook p order by p.path, p.version desc;
