"""The releases of benchmarks/everyday.py."""

import re


def test_each_release_of_a_few_hundred_people_can_be_asked_for(benchmark, shared):
    releases = benchmark("everyday").RELEASES
    sizes = {name: [int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*", name)] for name in releases}
    few = [name for name, numbers in sizes.items() if 0 < max(numbers, default=0) <= 500]
    assert len(few) > 80
    assert all(releases[name](shared / "data").known.any() for name in few)
