"""What is private, as a TOML file: read strictly, with the block and the rule in every refusal."""

import pytest

from dp_cmdp._src.frontends.lpfile.spec import blocks_of
from dp_cmdp.errors import InvalidArgumentError

SOUND = {"kind": "rhs", "rows": ["CAP*"], "lower": 0, "upper": 50}


def test_a_specification_is_read_as_written(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(
        '[[private]]\nkind = "coefficient"\nname = "hours"\nentries = [["M1", "X"], ["M2", "X"]]\n'
        'lower = 0.5\nupper = 2\nradius = 0.1\nrecord = "column"\n'
        '[[private]]\nkind = "rhs"\nrows = "CAP*"\nlower = 0.9\nupper = 1.1\nrelative = true\n'
    )
    hours, rhs = blocks_of(path)
    assert hours.entries == (("M1", "X"), ("M2", "X"))
    assert (hours.lower, hours.upper, hours.radius, hours.record) == (0.5, 2.0, 0.1, "column")
    assert (rhs.name, rhs.rows, rhs.relative, rhs.radius) == ("rhs", ("CAP*",), True, None)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"kind": "rows"}, "block 1: kind must be one of rhs, coefficient, objective, bound"),
        ({"radious": 1}, r"block 1 \(rhs\) of kind 'rhs' has no 'radious'; did you mean radius"),
        ({"rows": [1]}, "rows must be a list of names"),
        ({"lower": 50}, "public bounds: lower, and upper above it"),
        ({"lower": "0"}, "lower must be a number"),
        ({"upper": float("inf")}, "upper must be a number below 1e"),
        ({"radius": 0}, "radius must be positive"),
        ({"relative": "yes"}, "relative must be true or false"),
        ({"record": "column"}, "numbers of kind 'rhs' belong to no column"),
        ({"name": " "}, "name must be a text"),
    ],
)
def test_a_block_that_says_something_else_is_refused_by_name(change, rule):
    block = {key: value for key, value in {**SOUND, **change}.items() if value is not None}
    with pytest.raises(InvalidArgumentError, match=rule):
        blocks_of({"private": [block]})


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ({}, r"must have \[\[private\]\] blocks"),
        ({"private": ["rhs"]}, "block 1 must be a table"),
        ({"privat": [SOUND]}, "has no 'privat'; did you mean private"),
        ({"private": [SOUND, SOUND]}, "block 2 is called 'rhs' like another"),
    ],
)
def test_a_specification_of_another_shape_is_refused(content, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        blocks_of(content)


def test_a_file_that_is_no_toml_is_refused_with_the_line(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text("[[private]]\nkind = rhs\n")
    with pytest.raises(InvalidArgumentError, match=r"spec\.toml must be a TOML file: .*line 2"):
        blocks_of(path)
    path.write_text("[[private]]\nkind = 'rhs'\n")
    with pytest.raises(InvalidArgumentError, match=r"spec\.toml: block 1 \(rhs\) must name rows"):
        blocks_of(path)
