"""Changed verdicts and withdrawn corrections are as the stored results and the list of misprints have them."""

from __future__ import annotations

from creases_reproduction.catalogue import find_claim, list_claims
from creases_reproduction.changes import REMOVED, VERDICT_CHANGES, WITHDRAWALS
from creases_reproduction.misprints import list_misprints
from creases_reproduction.results import data_note, stored_result, stored_verdict

#: Entries of which only a part was taken back.
PARTLY = {"tiny/proposition-3.3", "linearity/equation-2.26"}


def test_the_last_change_of_a_claim_is_its_stored_verdict():
    for id, after in {change.id: change.after for change in VERDICT_CHANGES}.items():
        if after == REMOVED:
            assert id not in {claim.id for claim in list_claims()}
        else:
            assert stored_verdict(find_claim(id)) == after, id
    assert all(change.before != change.after and change.why for change in VERDICT_CHANGES)


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
