-- Results that steps with `cache` have given, for those who ask the same again.
-- `key` is a digest: of the playbook and the step, and of what it was asked or the author's own key.
create table noetl.cached (
    key text primary key,
    result text not null,
    execution_id bigint not null,
    made_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz
);
create index cached_expires on noetl.cached (expires_at) where expires_at is not null;
