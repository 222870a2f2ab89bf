-- What do models cost, by playbook?
select playbook, step, count(*) as answers,
       sum(cast(data ->> '$.usage.input_tokens' as bigint)) as input_tokens,
       sum(cast(data ->> '$.usage.output_tokens' as bigint)) as output_tokens,
       round(sum(cast(data ->> '$.usage.cost' as double)), 4) as cost
  from events
 where kind = 'model_answered'
 group by playbook, step
 order by cost desc nulls last, playbook, step
