-- Which steps need more than one attempt?
select playbook, step, type, count(*) as steps, count(*) filter (attempts > 1) as tried_again,
       max(attempts) as most_attempts, count(*) filter (attempts > 1 and state = 'done') as cured,
       mode(error_code) as usual_error
  from steps
 where attempts > 0
 group by playbook, step, type
having tried_again > 0
 order by tried_again desc, playbook, step
 limit 50
