"""Changed verdicts and withdrawn corrections are as the stored results and the list of misprints have them."""

from __future__ import annotations

from creases_reproduction.catalogue import find_claim, list_claims
from creases_reproduction.changes import REMOVED, VERDICT_CHANGES
from creases_reproduction.changes_by_source import SOURCE_CHANGES
from creases_reproduction.changes_by_statement import STATEMENT_CHANGES
from creases_reproduction.misprints import list_misprints
from creases_reproduction.results import NOT_COMPARABLE, data_note, stored_result, stored_verdict
from creases_reproduction.source_measures import SOURCE_MEASURES
from creases_reproduction.withdrawals import WITHDRAWALS

#: Entries of which only a part was taken back.
PARTLY = {"tiny/proposition-3.3", "linearity/equation-2.26"}


def test_the_last_change_of_a_claim_is_its_stored_verdict():
    changes = [*VERDICT_CHANGES, *SOURCE_CHANGES, *STATEMENT_CHANGES]
    for id, after in {change.id: change.after for change in changes}.items():
        if after == REMOVED:
            assert id not in {claim.id for claim in list_claims()}
        else:
            assert stored_verdict(find_claim(id)) == after, id
    assert all(change.before != change.after and change.why for change in changes)


def test_a_change_by_the_source_starts_from_the_last_verdict_and_names_a_passage():
    before = {change.id: change.after for change in VERDICT_CHANGES}
    for changes in (SOURCE_CHANGES, STATEMENT_CHANGES):
        assert len({change.id for change in changes}) == len(changes)
        for change in changes:
            assert before.get(change.id, change.before) == change.before
            assert change.passage
        before |= {change.id: change.after for change in changes}


def test_every_verdict_that_compares_nothing_is_listed_with_its_passage_and_the_sources_measure():
    incomparable = {claim.id for claim in list_claims() if stored_verdict(claim) == NOT_COMPARABLE}
    last = {change.id: change.after for change in (*SOURCE_CHANGES, *STATEMENT_CHANGES)}
    assert incomparable == {id for id, after in last.items() if after == NOT_COMPARABLE}
    assert incomparable <= set(SOURCE_MEASURES)


def test_experiments_whose_full_run_is_a_table_name_the_sources_measure():
    ids = {claim.id for claim in list_claims()}
    assert set(SOURCE_MEASURES) <= ids
    unnamed = {claim.id for claim in list_claims() if claim.from_table is not None} - set(SOURCE_MEASURES)
    assert unnamed == set()


def test_what_was_taken_back_is_no_longer_listed_nor_named_by_a_claim():
    withdrawn = {item.id for item in WITHDRAWALS}
    listed = {item.id for item in list_misprints()}
    assert withdrawn & listed == PARTLY
    assert all(set(claim.misprints) <= listed for claim in list_claims())


def test_claims_on_cifar_10_say_that_its_images_were_re_encoded():
    noted = {claim.id for claim in list_claims() if data_note(claim, stored_result(claim.id))}
    assert {f"linearity/figure-{number}" for number in ("3.12", "6.10", "6.13", "6.17", "7.4", "7.9")} <= noted
    assert "linearity/figure-6.11" not in noted
    assert "linearity/table-6.1" in noted
