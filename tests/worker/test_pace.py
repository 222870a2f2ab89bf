from noetl_mcp.worker.pace import Pace


def done(pace: Pace, steps: int) -> None:
    for _ in range(steps):
        pace.done()


def test_slow_steps_are_left_for_others() -> None:
    pace = Pace(4, 64, 0.0)
    done(pace, 2)

    assert pace.look(1.0) == 4


def test_quick_steps_are_held_in_numbers_but_not_without_a_bound() -> None:
    pace = Pace(4, 64, 0.0)
    done(pace, 200)
    quick = pace.look(0.2)
    done(pace, 2_000)

    assert (quick, pace.look(0.4)) == (34, 64)


def test_it_holds_few_again_once_steps_are_slow_again() -> None:
    pace = Pace(4, 64, 0.0)
    done(pace, 1_000)
    pace.look(0.2)

    assert pace.look(0.4) == 4
