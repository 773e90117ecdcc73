"""AWS Signature Version 4: which header fields prove who makes a request, and that it is whole.

Only what the adapters need: the hash of the whole body, and paths of unreserved characters (others
would have to be encoded twice, for every service but S3).

Source: docs.aws.amazon.com, IAM, "Create a signed AWS API request"; checked against published
examples of it and against botocore (tests/channels/test_sigv4.py, tests/real/test_ses.py).
"""

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self
from urllib.parse import parse_qsl, quote, urlsplit

_ALGORITHM = "AWS4-HMAC-SHA256"
_FORM = re.compile(r"([A-Za-z0-9]{16,128}):([A-Za-z0-9/+=]{16,128})(?::([A-Za-z0-9/+=_.-]{16,}))?")
RIGHT = "ACCESS_KEY_ID:SECRET_ACCESS_KEY, and :SESSION_TOKEN where the key is a temporary one"


@dataclass(frozen=True, slots=True)
class Keys:
    """A pair of keys, and the session's token where they are temporary."""

    id: str
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)

    @classmethod
    def read(cls, secret: str) -> Self:
        """The keys in a credential's secret.

        Raises:
            ValueError: if it has another form (the secret is not quoted).
        """
        found = _FORM.fullmatch(secret)
        if found is None:
            raise ValueError(f"the credential's secret has another form than {RIGHT}")
        return cls(found[1], found[2], found[3] or "")


@dataclass(frozen=True, slots=True)
class Scope:
    """What a signature is good for: one service in one region."""

    region: str
    service: str

    def on(self, day: str) -> str:
        return f"{day}/{self.region}/{self.service}/aws4_request"


def signature_headers(
    method: str, url: str, body: bytes, *, scope: Scope, keys: Keys, now: datetime
) -> dict[str, str]:
    """The header fields to add to a request: its date, its signature, and the session's token.

    Args:
        url: as it is called; its path needs no encoding.
        body: all of it.
        now: the moment of the request, in UTC; the service takes one that is minutes off.
    """
    parts, date = urlsplit(url), now.strftime("%Y%m%dT%H%M%SZ")
    added = {"X-Amz-Date": date, **({"X-Amz-Security-Token": keys.token} if keys.token else {})}
    signed = {"host": parts.netloc, **{name.lower(): value for name, value in added.items()}}
    names = ";".join(sorted(signed))
    request = "\n".join(
        [
            method,
            parts.path or "/",
            _query(parts.query),
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        ]
    )
    where = scope.on(date[:8])
    hashed = hashlib.sha256(request.encode()).hexdigest()
    told = "\n".join([_ALGORITHM, date, where, hashed])
    signature = hmac.new(_key(keys, date[:8], scope), told.encode(), hashlib.sha256).hexdigest()
    added["Authorization"] = (
        f"{_ALGORITHM} Credential={keys.id}/{where}, SignedHeaders={names}, Signature={signature}"
    )
    return added


def _key(keys: Keys, day: str, scope: Scope) -> bytes:
    key = f"AWS4{keys.secret}".encode()
    for part in scope.on(day).split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _query(query: str) -> str:
    pairs = sorted(
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in parse_qsl(query, keep_blank_values=True)
    )
    return "&".join(f"{name}={value}" for name, value in pairs)
