"""The command that makes a run again; that it gives the same settings is tested with ``creases grow``."""

from creases.growth import GrowthConfig
from creases.tables import RunSettings


def test_a_file_goes_by_its_name_and_every_option_of_tables_is_said():
    given = RunSettings(
        data="/far/away/my table.csv",
        target="what is it",
        task="regression",
        missing="drop",
        header=False,
        config=GrowthConfig(how="tiny"),
    )
    assert given.command("o") == (
        "creases grow 'my table.csv' --target 'what is it' --task regression --missing drop --no-header "
        "--how tiny --out o"
    )
