"""`python -m config.web FD`: the console, on a listening socket inherited from the parent.

The parent holds the socket, so the address stays the same and no visitor is turned away while this
process is started again.
"""

import logging
import socket
import sys

import waitress

from config.wsgi import application

THREADS = 8


def main() -> None:
    listening = socket.socket(fileno=int(sys.argv[1]))
    # "Serving on ..." is said by the parent, once.
    logging.getLogger("waitress").setLevel(logging.WARNING)
    waitress.serve(application, sockets=[listening], threads=THREADS, ident=None)


if __name__ == "__main__":
    main()
