-- name: forsaken
-- What workers held that are not heard of any more. Empty while one is up, for that one takes it over.
select h.exec, h.idx, h.item, w.id
  from noetl.worker w
 cross join lateral noetl.held_1(w.id) h
 where not exists (select from noetl.worker u
                    where u.gone_at is null
                      and u.seen_at > clock_timestamp() - make_interval(secs => %(lease)s))
   and (%(ids)s::bigint[] is null or h.exec = any (%(ids)s))
 order by h.exec, h.idx, h.item;
