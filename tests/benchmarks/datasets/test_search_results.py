import pytest

from benchmarks.datasets import load_benchmark, search_results


def lines(relevance, query):
    """Documents in the format of the files, feature k of document i being i + k / 1000."""
    return "".join(
        f"{y} qid:{q} " + " ".join(f"{k}:{i + k / 1000:g}" for k in range(1, 137)) + " \n"
        for i, (y, q) in enumerate(zip(relevance, query, strict=True))
    )


@pytest.fixture
def part(tmp_path, monkeypatch):
    """Where the validation file of fold 1 is looked for; it has two queries."""
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path))
    monkeypatch.setitem(search_results.N_QUERIES, "vali", 2)
    path = tmp_path / "mslr" / "Fold1" / "vali.txt"
    path.parent.mkdir(parents=True)
    return path


def test_mslr_is_read_as_it_is(part):
    part.write_text(lines([0, 4, 2, 1, 0], [30, 30, 30, 7, 7]))
    bunch = load_benchmark("mslr", subset="vali", low_quality=0.4)
    assert bunch.data.shape == (5, 136)
    assert bunch.data[2, 131] == pytest.approx(2.132)
    assert bunch.target.tolist() == [0, 4, 2, 1, 0]
    assert bunch.query_id.tolist() == [30, 30, 30, 7, 7]
    assert bunch.sensitive_features.tolist() == ["low", "low", "high", "high", "high"]
    assert load_benchmark("mslr", subset="vali", n_queries=1).target.tolist() == [0, 4, 2]


def test_the_error_of_a_missing_file_has_its_source_and_target(part):
    with pytest.raises(OSError, match=r"microsoft\.com.*mslr/Fold1/vali\.txt"):
        load_benchmark("mslr", subset="vali")


@pytest.mark.parametrize("content", ["", "[1, 2]", "1,2,3\n"])
def test_another_file_is_refused(content, part):
    part.write_text(content)
    with pytest.raises(OSError, match="MSLR-WEB10K|must hold 2 queries"):
        load_benchmark("mslr", subset="vali")


@pytest.mark.parametrize("cut", [0.4, 0.95])
def test_a_file_that_is_cut_off_is_refused(cut, part):
    text = lines([0, 4, 2, 1, 0], [30, 30, 30, 7, 7])
    part.write_text(text[: int(cut * len(text))])
    with pytest.raises(OSError, match="truncated, or another file"):
        load_benchmark("mslr", subset="vali")


def test_unknown_parts_and_folds_are_refused():
    with pytest.raises(ValueError, match="subset must be one of 'train', 'vali', 'test'"):
        load_benchmark("mslr", subset="validation")
    with pytest.raises(ValueError, match="fold must be one of 1, 2, 3, 4, 5"):
        load_benchmark("mslr", fold=0)
