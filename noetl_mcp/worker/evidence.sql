-- name: report
select noetl.report_1(%(worker)s, %(execs)s::bigint[], %(idxs)s::integer[], %(items)s::bigint[],
                      %(leases)s::integer[], %(answers)s::text[]);
