"""`python -m config.web FD`: the console, on a listening socket inherited from the parent.

The parent holds the socket, so the address stays the same and no visitor is turned away while this
process is started again.
"""

import logging
import socket
import sys

import waitress
from django.conf import settings

from config.wsgi import application

THREADS = 8


def main() -> None:
    listening = socket.socket(fileno=int(sys.argv[1]))
    # "Serving on ..." is said by the parent, once.
    logging.getLogger("waitress").setLevel(logging.WARNING)
    waitress.serve(
        application,
        sockets=[listening],
        threads=THREADS,
        ident=None,
        # No page takes more. Else a stranger's gigabyte, posted as a report, is written to disk
        # before anybody looks at it.
        max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        # Without what the proxy says, every request looks like plain HTTP and is sent round in
        # circles to HTTPS.
        clear_untrusted_proxy_headers=not settings.COUNTERFOIL_BEHIND_PROXY,
    )


if __name__ == "__main__":
    main()
