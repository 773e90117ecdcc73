"""Reads each setting from the environment, or says in one sentence what is wrong with it."""

import os
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

ON = ("on", "true", "yes", "1")
OFF = ("off", "false", "no", "0")
DAY_S = 86_400
POSTGRES = "django.db.backends.postgresql"
DATABASE_RIGHT = "postgres://user:password@host:5432/name, or unset for the embedded PostgreSQL"
MAIL_RIGHT = (
    "smtp://host:25, smtp+tls://user:password@host:587 (STARTTLS) or smtp+ssl://user:password@host"
)
CACHE_RIGHT = "dbcache://table or redis://host:6379/0, or unset for files in the data folder"


class WrongSettingError(ImproperlyConfigured):
    """A setting is wrong or missing; the text names it and what would be right.

    Its value is only shown where it can hold no secret.
    """

    def __init__(self, name: str, problem: str, right: str) -> None:
        super().__init__(f"{name} {problem}. Right would be: {right}.")
        self.name = name


class Environment:
    """The process's environment, and the file that fills in what it leaves out.

    A setting that is empty counts as unset.
    """

    def __init__(self, usual_file: Path) -> None:
        self._env = environ.Env()
        named = os.environ.get("COUNTERFOIL_ENV_FILE")
        if named:
            _check_readable("COUNTERFOIL_ENV_FILE", Path(named))
        self._env.read_env(named or usual_file)

    def text(self, name: str, default: str = "", most: int = 10_000) -> str:
        """Text, cut to `most` characters."""
        return str(self._env.str(name, default="") or default)[:most]

    def one_of(self, name: str, choices: Sequence[str], default: str) -> str:
        value = self.text(name, default)
        if value not in choices:
            raise _wrong(name, value, " or ".join(choices))
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.text(name, "on" if default else "off").lower()
        if value not in ON + OFF:
            raise _wrong(name, value, "on or off")
        return value in ON

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number within limits; of seconds where the name ends with _S."""
        value = self.text(name, str(default))
        if not value.isascii() or not value.isdigit() or not least <= int(value[:20]) <= most:
            raise _wrong(name, value, f"a whole number{_unit(name)} from {least} to {most}")
        return int(value)

    def number(self, name: str, default: float, least: float, most: float) -> float:
        """A number within limits; of seconds where the name ends with _S."""
        value = self.text(name, str(default))
        right = f"a number{_unit(name)} from {least:g} to {most:g}"
        try:
            number = float(value)
        except ValueError:
            raise _wrong(name, value, right) from None
        if not least <= number <= most:
            raise _wrong(name, value, right)
        return number

    def names(self, name: str, default: Sequence[str] = ()) -> list[str]:
        """Texts separated by commas."""
        said = [one.strip() for one in self.text(name).split(",")]
        return [one for one in said if one] or list(default)

    def folder(self, name: str, default: str, base: Path, *, needed: bool) -> Path:
        """A folder, relative to `base`; made if it is `needed` and not there."""
        path = (base / self.text(name, default)).resolve()
        try:
            if needed:
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            problem = f"is {str(path)!r}, which cannot be made: {error.strerror}"
            raise WrongSettingError(name, problem, "a folder that this user may write") from None
        return path

    def database(self, name: str) -> dict[str, Any]:
        """The parts of a database's address; none where it is unset."""
        address = self.text(name)
        if not address:
            return {}
        scheme = address.partition("://")[0] if "://" in address else ""
        if scheme not in {"postgres", "postgresql"}:
            said = f"begins with {scheme[:20]!r}" if scheme else "is no address"
            raise WrongSettingError(name, said, DATABASE_RIGHT)
        try:
            parsed: dict[str, Any] = environ.Env.db_url_config(address)
        except ValueError:
            raise WrongSettingError(name, "cannot be taken apart", DATABASE_RIGHT) from None
        if parsed.get("ENGINE") != POSTGRES or not parsed.get("NAME"):
            raise WrongSettingError(name, "names no database", DATABASE_RIGHT)
        return parsed

    def cache(self, name: str) -> dict[str, Any]:
        """The parts of a cache's address; none where it is unset."""
        address = self.text(name)
        if not address:
            return {}
        try:
            urllib.parse.urlsplit(address)
            parsed: dict[str, Any] = environ.Env.cache_url_config(address)
        except (ImproperlyConfigured, ValueError):
            raise WrongSettingError(name, "is no address of a cache", CACHE_RIGHT) from None
        return parsed

    def mail(self, name: str) -> dict[str, Any]:
        """Django's settings for a mail server's address; those of this machine's where unset."""
        try:
            parsed: dict[str, Any] = environ.Env.email_url_config(
                self.text(name, "smtp://localhost")
            )
        except (ImproperlyConfigured, ValueError):
            raise WrongSettingError(name, "is no address of a mail server", MAIL_RIGHT) from None
        is_smtp = parsed["EMAIL_BACKEND"].endswith(".smtp.EmailBackend")
        if is_smtp and not parsed["EMAIL_HOST"]:
            raise WrongSettingError(name, "names no host", MAIL_RIGHT)
        usual = 465 if parsed.get("EMAIL_USE_SSL") else 587 if parsed.get("EMAIL_USE_TLS") else 25
        return {
            "EMAIL_BACKEND": parsed["EMAIL_BACKEND"],
            "EMAIL_HOST": parsed["EMAIL_HOST"] or "",
            "EMAIL_PORT": parsed["EMAIL_PORT"] or usual,
            "EMAIL_HOST_USER": parsed["EMAIL_HOST_USER"] or "",
            "EMAIL_HOST_PASSWORD": parsed["EMAIL_HOST_PASSWORD"] or "",
            "EMAIL_USE_TLS": bool(parsed.get("EMAIL_USE_TLS")),
            "EMAIL_USE_SSL": bool(parsed.get("EMAIL_USE_SSL")),
            "EMAIL_FILE_PATH": parsed["EMAIL_FILE_PATH"] or None,
        }


def console_url(hosts: Sequence[str], *, production: bool) -> str:
    """Where browsers probably reach the console; "" where no single name can be told."""
    if not production:
        return "http://127.0.0.1:8000/"
    host = hosts[0]
    return "" if host.startswith((".", "*")) else f"https://{host}/"


def _check_readable(name: str, path: Path) -> None:
    try:
        path.read_text(encoding="utf-8")
    except OSError as error:
        problem = f"is {str(path)!r}, which cannot be read: {error.strerror}"
        raise WrongSettingError(name, problem, "a file of settings, or unset for .env") from None
    except UnicodeDecodeError:
        problem = f"is {str(path)!r}, which is not text"
        raise WrongSettingError(name, problem, "a file of settings, in UTF-8") from None


def _unit(name: str) -> str:
    return " of seconds" if name.endswith("_S") else ""


def _wrong(name: str, value: str, right: str) -> WrongSettingError:
    return WrongSettingError(name, f"is {value[:60]!r}", right)
