"""The page of the inventory is what its data say."""

from tests.oracles.inventory import PAGE, load, page


def test_the_page_is_written_from_the_data() -> None:
    assert PAGE.read_text() == page(load("inventory"), load("decisions"))


def test_every_decision_is_about_something_that_exists() -> None:
    inventory = load("inventory")
    for section, decided in load("decisions").items():
        for name in decided:
            if name.endswith("*"):
                assert any(each.startswith(name[:-1]) for each in inventory[section]), name
            else:
                assert name in inventory[section], name
