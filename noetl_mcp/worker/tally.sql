-- name: add
-- In the order of the names, as everybody does.
insert into noetl.tally as t (name, total)
select n.name, n.more from unnest(%(names)s::text[], %(more)s::bigint[]) as n (name, more)
 order by n.name
on conflict (name) do update set total = t.total + excluded.total;
