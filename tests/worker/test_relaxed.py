from tests.worker.shop import Shop

STEPS = """
workflow:
  - {step: start, type: echo, next: [w]}
  - {step: w, type: change, confirm: true, next: [end]}
  - {step: end}
"""


def test_only_what_reads_in_a_relaxed_playbook_may_be_lost_with_the_server(shop: Shop) -> None:
    relaxed, _ = shop.submit("durability: relaxed\n" + STEPS)
    strict, _ = shop.submit(STEPS)

    may_be_lost = {node.name for node in relaxed.nodes if node.relaxed}
    assert {"start", "end"} <= may_be_lost
    assert "w" not in may_be_lost
    assert not any(node.relaxed for node in strict.nodes)


def test_a_relaxed_playbook_comes_to_its_end(shop: Shop) -> None:
    done = shop.run("durability: relaxed\n" + STEPS)

    assert (done.status, len(shop.change.calls)) == ("completed", 1)
