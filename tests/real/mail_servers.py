"""Postfix and Dovecot on loopback, in a folder of their own, and nothing that can leave it.

Postfix takes mail for `lab.test` on a submission port, hands it to Dovecot by LMTP, and sends a
copy of everything from `agent@lab.test` to `archive@lab.test` by itself. Dovecot serves mailboxes
over IMAP; every account has the same password. Both need root, as on any real host.
"""

import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.processes import free_port, running, wait_for_greeting

CERTIFICATES = Path(__file__).parent.parent / "channels" / "certificates"
PASSWORD = "a-password-of-the-lab"
DOMAIN, AGENT, ARCHIVE = "lab.test", "agent@lab.test", "archive@lab.test"
GONE = "gone@lab.test"  # taken, and then sent on to where nothing is taken
SERVICES = ("postfix", "dovecot")
QUEUES = ("incoming", "active", "deferred", "maildrop")


@dataclass(frozen=True, slots=True)
class MailServers:
    """Where they listen, and the folder with all that they keep."""

    folder: Path
    smtp: int
    imap: int

    def settle(self, seconds: float = 20.0) -> None:
        """Wait until Postfix's queue is empty."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            queues = ("incoming", "active", "deferred", "maildrop")
            if not any(
                path.is_file()
                for queue in queues
                for path in (self.folder / "spool" / queue).rglob("*")
            ):
                return
            time.sleep(0.02)
        raise TimeoutError("mail is still in Postfix's queue")


def missing() -> str:
    """Which of the servers is not installed, or an empty string."""
    return " and ".join(name for name in SERVICES if shutil.which(name) is None)


@contextmanager
def mail_servers(folder: Path) -> Iterator[MailServers]:
    """Both servers, running until left."""
    folder.chmod(0o755)
    smtp, imap, lmtp = free_port(), free_port(), free_port()
    servers = MailServers(folder, smtp, imap)
    _write_dovecot(folder, imap, lmtp)
    _write_postfix(folder, smtp, lmtp)
    with (
        running(folder / "dovecot.out", "dovecot", "-F", "-c", folder / "dovecot.conf"),
        running(folder / "postfix.out", "postfix", "-c", folder / "postfix", "start-fg"),
    ):
        wait_for_greeting(smtp)
        wait_for_greeting(imap)
        try:
            yield servers
        finally:  # its master does not end with the script that started it
            stop = ["postfix", "-c", str(folder / "postfix"), "stop"]
            subprocess.run(stop, check=False, timeout=30, stderr=subprocess.DEVNULL)


def _write_postfix(folder: Path, smtp: int, lmtp: int) -> None:
    config, spool, data = folder / "postfix", folder / "spool", folder / "data"
    for made in (config, spool, data):
        made.mkdir()
    shutil.chown(data, "postfix")
    (config / "main.cf").write_text(
        f"""compatibility_level = 3.6
queue_directory = {spool}
data_directory = {data}
maillog_file = {folder}/postfix.log
maillog_file_prefixes = {folder}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mx.{DOMAIN}
mydestination =
mynetworks = 127.0.0.0/8
alias_maps =
virtual_mailbox_domains = {DOMAIN}
virtual_mailbox_maps = static:all
virtual_alias_maps = inline:{{{GONE}=whoever@elsewhere.test}}
virtual_transport = lmtp:inet:127.0.0.1:{lmtp}
default_transport = error:5.7.1 nothing leaves the lab
relay_transport = error:5.7.1 nothing leaves the lab
sender_bcc_maps = inline:{{ {AGENT}={ARCHIVE} }}
smtpd_recipient_restrictions =
 check_recipient_access inline:{{ nobody@{DOMAIN}=REJECT, later@{DOMAIN}=DEFER }}
 permit_mynetworks
 reject
smtpd_tls_cert_file = {CERTIFICATES}/server.pem
smtpd_tls_key_file = {CERTIFICATES}/server.pem
smtpd_tls_security_level = may
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = {folder}/run/auth-postfix
message_size_limit = 2000000
smtpd_error_sleep_time = 0
"""
    )
    services = {
        "pickup unix n - n 60 1 pickup",
        "cleanup unix n - n - 0 cleanup",
        "qmgr unix n - n 300 1 qmgr",
        "rewrite unix - - n - - trivial-rewrite",
        "bounce unix - - n - 0 bounce",
        "defer unix - - n - 0 bounce",
        "trace unix - - n - 0 bounce",
        "lmtp unix - - n - - lmtp",
        "error unix - - n - - error",
        "retry unix - - n - - error",
        "showq unix n - n - - showq",
        "anvil unix - - n - 1 anvil",
        "proxymap unix - - n - - proxymap",
        "tlsmgr unix - - n 1000? 1 tlsmgr",
        "postlog unix-dgram n - n - 1 postlogd",
        f"127.0.0.1:{smtp} inet n - n - - smtpd",
    }
    (config / "master.cf").write_text("\n".join(sorted(services)) + "\n")


def _write_dovecot(folder: Path, imap: int, lmtp: int) -> None:
    owner = pwd.getpwnam("mail")
    for made in ("mail", "run"):
        (folder / made).mkdir()
    shutil.chown(folder / "mail", "mail", "mail")
    (folder / "dovecot.conf").write_text(
        f"""base_dir = {folder}/run
state_dir = {folder}/run
log_path = {folder}/dovecot.log
protocols = imap lmtp
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
mail_location = maildir:{folder}/mail/%u
first_valid_uid = 1
mail_uid = {owner.pw_uid}
mail_gid = {owner.pw_gid}
default_login_user = dovenull
default_internal_user = dovecot
auth_mechanisms = plain login
auth_failure_delay = 0
passdb {{
  driver = static
  args = password={PASSWORD}
}}
userdb {{
  driver = static
  args = uid={owner.pw_uid} gid={owner.pw_gid} home={folder}/mail/%u allow_all_users=yes
}}
service imap-login {{
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    address = 127.0.0.1
    port = {lmtp}
  }}
}}
service auth {{
  unix_listener auth-postfix {{
    mode = 0666
  }}
}}
service stats {{
  chroot =
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
"""
    )
