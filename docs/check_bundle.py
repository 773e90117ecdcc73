#!/usr/bin/env python3
"""Check a bundle of Counterfoil: a run's (manage.py prove), or an export of the trail (a ZIP file).

    python check_bundle.py FILE [--anchor NUMBER:HASH] ...

Needs Python 3.9 or newer and nothing else: no network, no database, none of Counterfoil's code.
The format is described in prove.md. Exit codes: 0 all is proven, 1 something is not, 2 it cannot be
read.

What it shows: the bundle is exactly what was sealed, and nothing of it was changed, left out or
added since. What it cannot show: that the seals are those that were made at the time. For that,
compare a seal that was kept elsewhere, by --anchor.
"""

import argparse
import hashlib
import json
import re
import sys
import zipfile
import zlib

FORMAT = "counterfoil-bundle/1"
MOVES = frozenset(
    ("record", "begin", "accept", "suspect", "rewind", "clear", "fail", "expire", "cancel",
     "reissue")
)
# What a delivery is, as its row and the event that recorded it must both say.
IDENTITY = ("message", "channel", "destination", "part", "generation", "body_hash",
            "idempotency_key", "recognizer")  # fmt: skip


# What reading something that is no bundle may come to.
BROKEN = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError,
          EOFError, MemoryError, zipfile.BadZipFile, zlib.error)  # fmt: skip


class Unproven(Exception):  # noqa: N818  it is what the verdict says
    """Something in the bundle does not follow from its seals."""


def sha256(data):
    return hashlib.sha256(data).digest()


def say(line):
    """Print a line as one line: what a bundle names must not write over what is said of it."""
    print("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line))


def demand(condition, words):
    if not condition:
        raise Unproven(words)


# --- Seals: RFC 6962 trees, and a chain of their headers ------------------------------------------


def check_chain(seals):
    """Hash every header anew, each with the one before. Gives (size, root, hash) by number."""
    parts = {"installation", "first", "previous", "headers", "newest"}
    demand(set(seals) == parts, "seals: unknown parts")
    found, number, previous = {}, seals["first"], seals["previous"]
    for sealed_at, size, root in seals["headers"]:
        header = {
            "form": 1,
            "installation": seals["installation"],
            "number": number,
            "previous": previous,
            "root": root,
            "sealed_at": sealed_at,
            "size": size,
        }
        text = json.dumps(header, sort_keys=True, separators=(",", ":"))
        previous = sha256(b"\x02" + text.encode()).hex()
        found[number] = (size, bytes.fromhex(root), previous)
        number += 1
    demand(seals["newest"] == f"{number - 1}:{previous}", "the seals are not a chain to the newest")
    return found


def check_record(record, chain):
    """The text is a leaf of its seal's tree (RFC 9162, section 2.1.3.2), and says who it is."""
    name = f"{record['kind']} {record['id']}"
    demand(record["seal"] in chain, f"{name}: there is no seal {record['seal']}")
    size, root, _ = chain[record["seal"]]
    left, last = record["index"], size - 1
    demand(isinstance(left, int) and 0 <= left <= last, f"{name}: no such leaf")
    found = sha256(b"\x00" + record["text"].encode())
    for step in record["path"]:
        demand(last > 0, f"{name}: its path is too long")
        demand(re.fullmatch("[0-9a-f]{64}", step), f"{name}: {step!r} is no hash")
        beside = bytes.fromhex(step)
        if left % 2 or left == last:
            found = sha256(b"\x01" + beside + found)
            while not left % 2 and left:
                left, last = left // 2, last // 2
        else:
            found = sha256(b"\x01" + found + beside)
        left, last = left // 2, last // 2
    demand(last == 0 and found == root, f"{name}: is not what seal {record['seal']} has")
    text = json.loads(record["text"])
    demand(
        (text["record"], text["id"]) == (record["kind"], record["id"]), f"{name}: is another row"
    )
    return text


def check_anchors(anchors, chain):
    for number, digest in anchors:
        demand(number in chain, f"anchor {number}: the bundle begins after it or ends before it")
        demand(chain[number][2] == digest, f"anchor {number}: the seal has another hash now")


# --- The bundle of a run --------------------------------------------------------------------------


def check_run(data, anchors):
    bundle = json.loads(data)
    demand(isinstance(bundle, dict) and bundle.get("format") == FORMAT, f"it is no {FORMAT}")
    demand(set(bundle) == {"format", "ledgers", "records", "seals"}, "it has unknown parts")
    written = json.dumps(bundle, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    demand(written.encode() == data, "it is not written as bundles are")
    chain = check_chain(bundle["seals"])
    keys = {"kind", "id", "text", "seal", "index", "path"}
    demand(all(set(one) == keys for one in bundle["records"]), "a record has unknown parts")
    needed = min((one["seal"] for one in bundle["records"]), default=0)
    demand(bundle["seals"]["first"] == needed, "it begins with another seal than it needs")
    texts = {(one["kind"], one["id"]): check_record(one, chain) for one in bundle["records"]}
    demand(len(texts) == len(bundle["records"]), "a record is in it twice")
    ledgers = json.loads(bundle["ledgers"])
    check_ledgers(bundle["ledgers"], ledgers, texts)
    check_anchors(anchors, chain)
    report_run(ledgers, texts, chain, bundle["seals"])


def check_ledgers(written, ledgers, texts):
    """Both ledgers are those that the event of the proof has the hash of, and fit the record."""
    events = sorted(number for kind, number in texts if kind == "event")
    demand(events, "it has no events")
    proof = texts["event", events[-1]]
    demand(proof["kind"] == "prove", "its last event is not that of the proof")
    demand(
        proof["detail"]["ledgers_sha256"] == sha256(written.encode()).hex(),
        "the ledgers are not those that were sealed",
    )
    demand(proof["run"] == ledgers["run"]["run_id"], "the proof is of another run")
    listed = {(kind, number) for kind, ids in ledgers["records"].items() for number in ids}
    demand(listed | {("event", events[-1])} == set(texts), "a record is missing, or one too many")
    check_steps(ledgers["steps"], texts)
    for row in ledgers["deliveries"]:
        check_delivery(row, texts)


def check_steps(steps, texts):
    done = {
        (text["step"], text["step_version"]): text
        for text in texts.values()
        if text["record"] == "event" and text["kind"] == "complete_step"
    }
    for step in steps:
        if step["status"] == "completed":
            event = done.get((step["step_id"], step["version"]), {})
            demand(
                event.get("result_hash") == step["result_hash"],
                f"step {step['step_id']}: its result is not the one that was sealed",
            )


def check_delivery(row, texts):
    name = f"delivery {row['delivery_id']}"
    mine = [text for text in texts.values() if text.get("delivery") == row["delivery_id"]]
    moves = [text for text in mine if text["record"] == "event" and text["kind"] in MOVES]
    moves = sorted((move for move in moves if move["row_version"]), key=lambda m: m["row_version"])
    demand(moves and moves[0]["kind"] == "record", f"{name}: nothing recorded it")
    for field in IDENTITY:
        demand(moves[0][field] == row[field], f"{name}: {field} is not what was sealed")
    demand(moves[-1]["to_status"] == row["status"], f"{name}: no event led to {row['status']}")


def report_run(ledgers, texts, chain, seals):
    run, counts = ledgers["run"], {}
    for row in ledgers["deliveries"]:
        counts[row["status"]] = counts.get(row["status"], 0) + 1
    told = ", ".join(f"{number} {status}" for status, number in sorted(counts.items())) or "none"
    say(f"run         {run['run_id']} of {run['agent']}: {run['status']}")
    say(f"deliveries  {told}")
    say(f"record      {len(texts)} events, attempts and findings, all as they were sealed")
    report_seals(chain, seals)


def report_seals(chain, seals):
    last = max(chain)
    say(f"seals       {seals['first']} to {last} of installation {seals['installation']}")
    say(f"anchor      {last}:{chain[last][2]}")


# --- An export of the trail -----------------------------------------------------------------------


def check_export(path, anchors):
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        files = manifest["sha256"]
        demand(set(archive.namelist()) == {*files, "manifest.json"}, "it has unknown files")
        for name, digest in files.items():
            with archive.open(name) as file:
                demand(hash_of(file) == digest, f"{name}: is not what the manifest says")
        seals = json.loads(archive.read("seals.json"))
        chain = check_chain(seals) if seals else {}
        sealed, waiting = 0, 0
        listed = {
            kind: {json.loads(line)[key] for line in archive.open(name)}
            for kind, name, key in (
                ("event", "events.jsonl", "event"),
                ("evidence", "evidence.jsonl", "id"),
            )
        }
        with archive.open("records.jsonl") as file:
            for line in file:
                record = json.loads(line)
                listed.get(record["kind"], set()).discard(record["id"])
                if record["seal"] is None:
                    waiting += 1
                else:
                    check_record(record, chain)
                    sealed += 1
    for kind, left in listed.items():
        demand(not left, f"{kind} {min(left, default=0)}: its sealed text is missing")
    check_anchors(anchors, chain)
    say(f"record      {sealed} events, attempts and findings, all as they were sealed")
    say(f"            {waiting} more waited for their seal, and are not proven")
    if chain:
        report_seals(chain, seals)


def hash_of(file):
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def anchor(text):
    found = re.fullmatch(r"([1-9][0-9]*):([0-9a-f]{64})", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not NUMBER:HASH")
    return int(found[1]), found[2]


def main(words=None):
    parser = argparse.ArgumentParser(description="Check a bundle of Counterfoil.")
    parser.add_argument("file")
    parser.add_argument("--anchor", type=anchor, action="append", default=[])
    asked = parser.parse_args(words)
    try:
        if zipfile.is_zipfile(asked.file):
            check_export(asked.file, asked.anchor)
        else:
            with open(asked.file, "rb") as file:
                check_run(file.read(), asked.anchor)
    except Unproven as error:
        say(f"NOT PROVEN: {error}")
        return 1
    except OSError as error:
        say(f"it cannot be read: {error}")
        return 2
    except BROKEN as error:
        say(f"NOT PROVEN: it is not a whole bundle: {type(error).__name__}: {error}")
        return 1
    say("proven      compare the anchor with one that was kept elsewhere")
    return 0


if __name__ == "__main__":
    sys.exit(main())
