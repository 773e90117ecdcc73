"""Mail over SMTP, found again by IMAP in an archive mailbox that the mail server itself fills.

SMTP honours no key: a second submission is a second mail, and a Message-ID deduplicates nothing
(two copies on Postfix and Exim, measured). So the one way to learn what became of a lost answer is
to look where the server keeps a copy of what it took (Postfix: `sender_bcc_maps`). The recognizer
stands in a header field of our own, which survives, and in the last line of the text.

A server may queue for days what it has accepted, the archive's copy included. So an archive shows
what arrived and proves no absence, unless the operator declares it complete.

Where the server mails its reports (RFC 3464), `manage.py read_receipts` reads them: a bounce, which
proves that the mail had been accepted.

Sources: RFC 5321 (commands, replies, 4.5.3.2.6 for the wait after the final dot), RFC 3461 (DSN).
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import ClassVar

from delivery.channels.contract import (
    Adapter,
    Envelope,
    Finding,
    Introspection,
    Journal,
    Json,
    Posted,
    Query,
    Receipt,
    Rendered,
)
from delivery.channels.declaration import Declaration, Surface
from delivery.channels.imap import Mailbox, MailboxError, opened, with_field
from delivery.channels.mail_addresses import is_address, normalise_address
from delivery.channels.mail_archive import ARCHIVE, REPORTS, mailbox_of, search_archive
from delivery.channels.mail_content import check_mail_content, read_mail_content
from delivery.channels.mail_reports import MAILBOX, MAX_REPORT, REPORT, read_report
from delivery.channels.mime import REF_HEADER, Letter, compose
from delivery.channels.settings import Settings, choice, flag, is_line, is_plain, number, text
from delivery.channels.smtp import Mail, Server, hand_in, sign_in
from delivery.channels.texts import visible_line
from delivery.channels.urls import is_file
from delivery.errors import BadReceiptError, SecretError
from delivery.outcomes import NotSent, Outcome, Unauthorised

# RFC 5321, 4.5.3.2.6: a server may take ten minutes to answer the final dot, and a client that
# gives up earlier causes the second copy.
_ANSWER_S = 600.0
_ELSE_S = 60.0  # all that goes before
_NOBODY = "nobody"


class EmailAdapter(Adapter):
    """One SMTP transaction with one recipient."""

    slug = "email"
    known: ClassVar[Settings] = {
        "host": text("The mail server.", right="a host name", is_right=is_plain, required=True),
        "port": number("Its port.", default=587, least=1, most=65535),
        "security": choice("How the connection is encrypted.", "starttls", "tls", "none"),
        "user": text(
            "Who signs in, with the credential's secret; empty: nobody.",
            right="a name without spaces",
            is_right=is_plain,
        ),
        "hello": text(
            "The name this client gives itself; empty: the sender's domain.",
            right="a host name",
            is_right=is_plain,
        ),
        "sender": text(
            "The address mail comes from, and reports go to.",
            right="a mail address in lower case, such as agent@example.com",
            is_right=is_address,
            required=True,
        ),
        "sender_name": text("The name shown beside it.", right="one line", is_right=is_line),
        "subject": text(
            "For content without a subject.",
            default="Message",
            right="one line",
            is_right=is_line,
        ),
        "recognizer_place": choice("Where the recognizer goes.", "both", "hidden", "visible"),
        "receipts": choice("Which reports the server is asked for.", "failures", "all", "none"),
        "allow_private": flag("Whether a server in a private network may be called."),
        "ca_file": text(
            "Certificates to trust instead of the usual ones.",
            right="the path of a readable PEM file",
            is_right=is_file,
        ),
        **ARCHIVE,
        **REPORTS,
        "processing_s": number("Seconds until a mail is in the archive.", default=120),
    }

    best: ClassVar[Mapping[str, Json]] = {
        "archive_host": "imap.example.com",
        "archive_user": "archive",
        "archive_complete": True,
    }

    @classmethod
    def check_settings(cls, settings: Mapping[str, Json]) -> list[str]:
        wrong = super().check_settings(settings)
        private = settings.get("allow_private", False)
        boxes = ((f"{one}_security", f"{one}_user") for one in ("archive", "reports"))
        for names in (("security", "user"), *boxes):
            security, user = (settings.get(name) for name in names)
            if security == "none" and user and not private:
                wrong.append(
                    f"{names[0]}: none would send a password in the clear; encrypt, or set"
                    " allow_private for a server in your own network"
                )
        if settings.get("archive_host") and not settings.get("archive_user"):
            wrong.append("archive_user: is missing, must be who reads the archive mailbox")
        return wrong

    def endpoint(self) -> str:
        return f"{self.option('host')}:{int(self.option('port'))}"

    def declare(self) -> Declaration:
        return Declaration(
            adapter=self.slug,
            on_duplicate="a second copy",
            surface=self._surface(),
            recognizer_places=self._places(),
            refusals="4xx and 5xx to MAIL, RCPT and DATA, and after the final dot",
            rate_limit_proves_rejection=True,
            processing_s=float(self.option("processing_s")),
            deadline_s=_ANSWER_S + _ELSE_S,
            introspection="signs in to the server and the archive",
            receipts="delivery status notifications (RFC 3464)",
            met="real server",
        )

    def _surface(self) -> Surface | None:
        if not self.option("archive_host"):
            return None
        return Surface("the archive mailbox", self.option("archive_complete"), "read the folder")

    def _places(self) -> tuple[str, ...]:
        places = {"hidden": f"header {REF_HEADER}", "visible": "the text's last line"}
        place = self.option("recognizer_place")
        return tuple(places.values()) if place == "both" else (places[place],)

    def normalise(self, destination: str) -> str:
        return normalise_address(destination)

    def check_content(self, content: Json) -> None:
        check_mail_content(content)

    def render(self, envelope: Envelope) -> Rendered:
        said = read_mail_content(envelope.content, self.option("subject"))
        place = self.option("recognizer_place")
        line = visible_line(envelope.recognizer, envelope.marker)
        letter = Letter(
            sender=self.option("sender"),
            sender_name=self.option("sender_name"),
            recipient=envelope.destination,
            subject=said.subject,
            text=said.text,
            html=said.html,
            recognizer=envelope.recognizer,
            hidden=place != "visible",
            # The mark of a resend that a person approved is always shown.
            last_line=line if place != "hidden" or envelope.marker else "",
        )
        extra = {"recognizer": envelope.recognizer}
        return Rendered(compose(letter), envelope.destination, extra)

    def ready(self) -> str:
        try:
            self._server()
        except SecretError as error:
            return str(error)
        return ""

    def _server(self) -> Server:
        user = self.option("user")
        sender = str(self.option("sender"))
        return Server(
            host=self.option("host"),
            port=int(self.option("port")),
            security=self.option("security"),
            user=user,
            password=self.secret() if user else "",
            hello=self.option("hello") or sender.rpartition("@")[2],
            allow_private=self.option("allow_private"),
            ca_file=self.option("ca_file"),
        )

    def submit(self, rendered: Rendered, key: str, journal: Journal) -> Outcome:
        del key  # nobody honours one
        try:
            server = self._server()
        except SecretError as error:
            return NotSent(str(error), tried=False)
        mail = Mail(
            sender=self.option("sender"),
            recipient=rendered.destination,
            message=rendered.body,
            envelope_id=rendered.extra["recognizer"],
            receipts=self.option("receipts"),
        )
        return hand_in(server, mail, journal)

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        surface = self._surface()
        if surface is None:
            return
        try:
            archive = self._archive()
        except SecretError as error:
            yield Finding("surface_scan", "inconclusive", "nothing", str(error))
            return
        yield search_archive(archive, query, surface, self.option("sender"), deadline)

    def _archive(self) -> Mailbox:
        return mailbox_of(self.option)

    def classify_receipt(self, posted: Posted) -> Sequence[Receipt]:
        """A report as it lay in the mailbox; nobody may post one."""
        if posted.url != MAILBOX:
            raise BadReceiptError("reports about mail are fetched, not posted")
        return read_report(posted)

    def fetch_receipts(self, since: datetime, deadline: float) -> Iterator[Posted]:
        if not self.option("reports_host"):
            raise BadReceiptError("the channel has no reports_host: there is no mailbox to read")
        try:
            with opened(mailbox_of(self.option, "reports"), deadline) as reader:
                for uid in reader.search(with_field("CONTENT-TYPE", REPORT, since)):
                    mail = reader.fetch_whole(uid, MAX_REPORT)
                    yield Posted(MAILBOX, {}, mail, datetime.now(UTC))
        except (MailboxError, SecretError) as error:
            raise BadReceiptError(f"the mailbox of reports: {error}") from None

    def introspect(self, deadline: float) -> Introspection:
        try:
            said = sign_in(self._server(), deadline)
            why, refused = getattr(said, "why", ""), isinstance(said, Unauthorised)
            if said is None and self.option("archive_host"):
                with opened(self._archive(), deadline):
                    pass
        except (MailboxError, SecretError) as error:
            why, refused = f"the archive: {error}", False
        # A server that lets anybody in says so, too: what was held because it did not goes on.
        identity = "" if why else self.option("user") or _NOBODY
        return Introspection(identity=identity, refused=refused, why=why)
