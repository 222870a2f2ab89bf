-- The log by days: partitions made ahead of time, and taken away when they are old.
-- Each function is one short transaction whose waits are bounded; of many callers one does the
-- work, the others are told 'busy'.

-- Who reads on from where he was asks for ids; rows lie nearly in their order.
create index event_since on noetl.event using brin (id)
  with (pages_per_range = 32, autosummarize = on);

-- The days (in UTC) that have a partition of their own.
create view noetl.log_day as
select to_date(substr(c.relname, 7), 'YYYYMMDD') as day, c.relname::text as name, c.oid
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
 where i.inhparent = 'noetl.event'::regclass and c.relname ~ '^event_[0-9]{8}$';

-- Whether it is this caller's turn; until the end of the transaction nobody else's.
create function noetl.log_turn_1() returns boolean language sql as $$
    select pg_try_advisory_xact_lock(x'6E6F65746C6C6F67'::bigint)
$$;

-- What is to be done: days to make (those ahead, and those whose rows went astray), and days that
-- are over for longer than they are kept. Cheap enough to ask at any time.
create function noetl.log_due_1(p_ahead integer, p_keep integer,
                                out make date[], out remove date[])
language plpgsql stable set timezone = 'UTC' as $$
declare
    v_today date := clock_timestamp()::date;
begin
    make := array(
        select w.day
          from (select v_today + n as day from generate_series(0, p_ahead) n
                union
                select d.ts::date from noetl.event_default d) w
         where not exists (select from noetl.log_day h where h.day = w.day)
         order by abs(w.day - v_today), w.day limit 400);
    remove := array(select h.day from noetl.log_day h where h.day < v_today - p_keep
                     order by h.day);
end $$;

-- Make the partition of a day, and move there what went astray; more than `p_most` rows stay
-- where they are. Says 'made', 'there', 'many' or 'busy'.
create function noetl.log_make_1(p_day date, p_most integer, out said text, out moved bigint)
language plpgsql set timezone = 'UTC' set lock_timeout = '1s' as $$
declare
    v_name text := 'event_' || to_char(p_day, 'YYYYMMDD');
    v_from timestamptz := p_day::timestamptz;
    v_to timestamptz := (p_day + 1)::timestamptz;
begin
    moved := 0;
    if not noetl.log_turn_1() then
        said := 'busy';
        return;
    end if;
    if exists (select from noetl.log_day where name = v_name) then
        said := 'there';
        return;
    end if;
    if (select count(*) from (select from noetl.event_default d
                               where d.ts >= v_from and d.ts < v_to limit p_most + 1) x) > p_most
    then
        said := 'many';
        return;
    end if;
    -- Rows of these hours may be on their way to the default partition; whoever chose it before
    -- this day had a place of its own would be refused.
    if clock_timestamp() between v_from - interval '1 hour' and v_to + interval '1 hour' then
        lock table only noetl.event in share row exclusive mode;
    else
        lock table only noetl.event in share update exclusive mode;
    end if;
    lock table noetl.event_default in access exclusive mode;
    execute format('create table noetl.%I (like noetl.event including all)', v_name);
    execute format('with astray as (delete from noetl.event_default where ts >= $1 and ts < $2
                                    returning *)
                    insert into noetl.%I select * from astray order by id', v_name)
      using v_from, v_to;
    get diagnostics moved = row_count;
    execute format('alter table noetl.event attach partition noetl.%I for values from (%L) to (%L)',
                   v_name, v_from, v_to);
    said := 'made';
end $$;

-- Whether a running execution has events of a day.
create function noetl.log_needed_1(p_day date) returns boolean
language plpgsql set timezone = 'UTC' as $$
declare
    v_is_needed boolean;
begin
    execute format('select exists (select from noetl.execution x
                                    where x.status = 0 and x.created_at < $1
                                      and exists (select from noetl.%I e
                                                   where e.execution_id = x.id))',
                   'event_' || to_char(p_day, 'YYYYMMDD'))
       into v_is_needed using (p_day + 1)::timestamptz;
    return v_is_needed;
end $$;

-- Take a day away, unless a running execution has events in it. Says 'gone', 'needed', 'absent' or
-- 'busy'. Nobody writes or reads the log meanwhile, so it waits for its turn only a moment.
create function noetl.log_remove_1(p_day date) returns text
language plpgsql set timezone = 'UTC' set lock_timeout = '250ms' as $$
declare
    v_name text := 'event_' || to_char(p_day, 'YYYYMMDD');
begin
    if not noetl.log_turn_1() then
        return 'busy';
    end if;
    if not exists (select from noetl.log_day where name = v_name) then
        return 'absent';
    end if;
    if noetl.log_needed_1(p_day) then
        return 'needed';
    end if;
    lock table only noetl.event in access exclusive mode;
    -- Asked again: one that was over may have been taken up again meanwhile.
    if noetl.log_needed_1(p_day) then
        return 'needed';
    end if;
    execute format('alter table noetl.event detach partition noetl.%I', v_name);
    execute format('drop table noetl.%I', v_name);
    return 'gone';
end $$;

-- How many rows lie in the default partition; not counted beyond `p_most`. More than none means
-- that days are not made ahead.
create function noetl.log_astray_1(p_most integer) returns bigint language sql stable as $$
    select count(*) from (select from noetl.event_default limit p_most) x
$$;

select noetl.log_make_1((clock_timestamp() at time zone 'UTC')::date + n, 1000000)
  from generate_series(0, 7) n;
