"""Settings: who beats whom, and what a slip is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from switchboard.errors import SettingsError
from switchboard.settings import load_client_settings, load_settings


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(tmp_path: Path) -> None:
    (tmp_path / "switchboard.toml").write_text('port = 1001\nhost = "127.0.0.2"\nlog_level="debug"')
    environ = {"SWITCHBOARD_PORT": "1002", "SWITCHBOARD_HOST": "127.0.0.3"}
    settings = load_settings({"port": "1003"}, environ, tmp_path)
    assert (settings.port, settings.host, settings.log_level) == (1003, "127.0.0.3", "debug")
    assert settings.rate_endpoint_burst == 40
    origins = {one.name: one.origin for one in settings.sources}
    assert origins["port"] == "flag"
    assert origins["host"] == "environment"
    assert origins["log_level"].endswith("switchboard.toml")
    assert origins["rate_endpoint_burst"] == "default"


def test_the_file_of_the_data_directory_counts_when_the_working_directory_has_none(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "switchboard.toml").write_text("port = 1001")
    assert load_settings({"data_dir": str(data)}, {}, tmp_path).port == 1001


def test_all_problems_are_reported_together_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "switchboard.toml").write_text("prot = 1\nlog_level = 'loud'\nhost = true")
    environ = {"SWITCHBOARD_PUBLIC_ULR": "x", "SWITCHBOARD_PORT": "70000"}
    with pytest.raises(SettingsError) as caught:
        load_settings({"rate_endpoint_burst": "0"}, environ, tmp_path)
    lines = str(caught.value).split("\n")
    assert len(lines) == 6
    assert any("'prot'" in line and "'port'" in line for line in lines)
    assert any("SWITCHBOARD_PUBLIC_ULR" in line and "PUBLIC_URL'" in line for line in lines)
    assert any("SWITCHBOARD_PORT = '70000'" in line and "65535" in line for line in lines)
    assert any(line.startswith("--rate-endpoint-burst") for line in lines)


def test_variables_of_the_command_line_are_no_slips_of_the_service(tmp_path: Path) -> None:
    environ = {"SWITCHBOARD_URL": "http://x", "SWITCHBOARD_TOKEN": "sbo_x"}
    assert load_settings({}, environ, tmp_path).port == 8787


def test_a_database_url_is_refused_without_showing_its_password(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="SQLite") as caught:
        load_settings({"database_url": "postgresql://u:hunter2@db/x"}, {}, tmp_path)
    assert "hunter2" not in str(caught.value)


def test_a_secret_read_from_a_file_is_not_shown_either(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://u:hunter2@db/x\n")
    environ = {"SWITCHBOARD_DATABASE_URL_FILE": str(tmp_path / "url")}
    with pytest.raises(SettingsError, match="SQLite") as caught:
        load_settings({}, environ, tmp_path)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7"])
def test_an_address_that_others_reach_needs_a_public_url(host: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="public_url"):
        load_settings({"host": host}, {}, tmp_path)
    told = {"host": host, "public_url": "https://board.example/"}
    settings = load_settings(told, {}, tmp_path)
    assert settings.public_url == "https://board.example"
    assert settings.warnings == ()


def test_plain_http_beyond_this_machine_is_warned_about(tmp_path: Path) -> None:
    told = {"host": "0.0.0.0", "public_url": "http://board.example"}
    assert "unencrypted" in load_settings(told, {}, tmp_path).warnings[0]
    assert load_settings({"public_url": "http://localhost:1"}, {}, tmp_path).warnings == ()


@pytest.mark.parametrize(
    "url",
    [
        "board.example",
        "ftp://x",
        "https://",
        "https://u:p@x",
        "https://x/?q",
        "https://x/#f",
        "https://x:99999",
        "https://x\ny",
        "https://ö.example",
    ],
)
def test_a_public_url_that_is_none_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"public.url"):
        load_settings({"public_url": url}, {}, tmp_path)


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "switchboard.toml").write_text("port =")
    with pytest.raises(SettingsError, match=r"switchboard\.toml"):
        load_settings({}, {}, tmp_path)


def test_a_client_option_beats_its_variable_and_the_token_stays_hidden(tmp_path: Path) -> None:
    environ = {"SWITCHBOARD_URL": "http://b", "SWITCHBOARD_TOKEN": "sbo_environment"}
    told = load_client_settings(
        url="http://a",
        token="sbo_option",
        data_dir=None,
        environ=environ,
        working_directory=tmp_path,
    )
    assert told.url == "http://a"
    assert told.token is not None
    assert told.token.reveal() == "sbo_option"
    assert "sbo_option" not in f"{told!r} {told.token}"


def test_a_client_token_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("sbo_file\n")
    environ = {"SWITCHBOARD_TOKEN_FILE": str(tmp_path / "token")}
    told = load_client_settings(
        url=None, token=None, data_dir=None, environ=environ, working_directory=tmp_path
    )
    assert told.token is not None
    assert told.token.reveal() == "sbo_file"
