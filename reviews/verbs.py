"""What an event's kind says to somebody who reads the trail. Any other kind reads as it is."""

_WORDS = {
    "record": "recorded",
    "begin": "attempt began",
    "accept": "delivered",
    "suspect": "became unknown",
    "clear": "proved not sent",
    "fail": "failed",
    "expire": "expired",
    "cancel": "cancelled",
    "reissue": "owed again",
    "hold": "held back",
    "ask": "asks a person",
    "rest": "left as decided",
    "withdraw": "withdrawn",
    "permit": "withdrawal lifted",
    "decide": "decided",
    "take_back": "decision taken back",
    "look_again": "search asked for",
    "assign": "taken or handed over",
    "refuse": "refused",
    "open_run": "run began",
    "reopen_run": "run went on",
    "end_run": "run ended",
    "hold_all": "everything held",
    "release_all": "everything released",
    "view_payload": "contents shown",
    "prove": "record proven to somebody",
    "purge": "records purged",
    "purge_reports": "unmatched reports purged",
    "erase_payload": "content erased",
    "erase_result": "result erased",
    "erase_answer": "answer erased",
}


def verb(kind: str) -> str:
    """In words: `became unknown` for `suspect`, `start step` for `start_step`."""
    return _WORDS.get(kind, kind.replace("_", " "))
