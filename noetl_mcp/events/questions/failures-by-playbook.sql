-- What goes wrong in which playbook, and where?
select playbook, step, error_code, count(*) as times, count(distinct execution_id) as executions,
       max(ended) as last, arg_max(error_message, ended) as last_message
  from steps
 where state in ('failed', 'dead')
 group by playbook, step, error_code
 order by times desc, playbook, step
 limit 50
