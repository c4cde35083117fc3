"""The command that makes a run again; that it gives the same settings is tested with ``creases grow``."""

from creases.growth.experiment._settings import Settings


def test_a_file_goes_by_its_name_and_every_option_of_tables_is_said():
    given = Settings(
        data="/far/away/my table.csv",
        target="what is it",
        task="regression",
        missing="drop",
        header=False,
        device="cuda",
    )
    assert given.command("o") == (
        "creases grow 'my table.csv' --target 'what is it' --task regression --missing drop --no-header --device cuda "
        "--out o"
    )
