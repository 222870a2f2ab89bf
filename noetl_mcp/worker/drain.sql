-- name: left
-- Whether anything can still go on by itself in these pools. What waits for a person, an event or a
-- time that is not near does not count, nor does an end that a doubt or an open child holds up.
select exists (select from noetl.ready where pool = any(%(pools)s) or pool like '!alone%%')
    or exists (select from noetl.lane l
                where cardinality(l.limits) > 0
                  and regexp_replace(l.pool, '^.*@', '') = any(%(pools)s)
                  and exists (select from noetl.ready r where r.pool = l.pool))
    or exists (select from noetl.timer t
                 left join noetl.step s using (execution_id, idx, item)
                where t.due <= clock_timestamp() + interval '2 seconds' or s.state = 8)
    or exists (select from noetl.worker w cross join lateral noetl.held_1(w.id))
    or exists (select from noetl.halt h
                where h.kind > 1
                  and not exists (select from noetl.step s
                                   where s.execution_id = h.execution_id
                                     and (s.state = 10
                                          or (s.state = 9 and s.note like '{"child"%%'))));
