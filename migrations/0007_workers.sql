-- What is kept of workers beyond their lives.

-- Lives that are over for certain: their process is gone, so that nothing they sent is still on its
-- way. Asked when a step that they left in doubt is to be done again.
create table noetl.ended_life (
    worker bigint primary key,
    at timestamptz not null default clock_timestamp()
);

-- What all workers together have counted since the beginning.
create table noetl.tally (name text primary key, total bigint not null);
