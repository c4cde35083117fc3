from creases.reproduce.image_claims import accuracies, claims


def test_accuracies_are_near_the_printed_ones_or_better():
    table = accuracies()
    gap = table["here"] - table["printed"]
    assert len(table) == 28
    complex_ = table["network"].str.startswith("complex") & (table["optimizer"] == "sgd") & (table["data"] == "cifar10")
    better = table["network"].str.startswith("linear") | complex_
    assert gap[~better].abs().max() < 1.6
    assert gap[better].between(2, 6).all()


def test_what_the_text_says_holds_but_for_four_sentences():
    failed = [one.claim for one in claims() if not one.holds]
    named = (
        "raises its accuracy",
        "linear and dense networks are alike",
        "by distance all",
        "explains less on CIFAR-10",
    )
    assert len(failed) == len(named)
    assert all(any(words in one for one in failed) for words in named)
