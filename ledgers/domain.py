"""The domain of a destination, where it has one: of an e-mail address or of a URL."""

from django.db.models import CharField, Transform


@CharField.register_lookup
class Domain(Transform):
    """`destination__domain`: `acme.test` of `ops@acme.test` and of `https://acme.test/x`.

    NULL for what has none. An index is built on exactly this text of SQL: changing it takes
    another index.
    """

    lookup_name = "domain"
    template = (
        "substring(%(expressions)s from"
        " '(?:^[a-z][a-z0-9+.-]*://|@)([^/?#:@]+)(?:$|[/?#:])')"
    )  # fmt: skip
    output_field = CharField()
