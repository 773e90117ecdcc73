"""With which authority something is sent, and whether that authority reaches the destination.

A credential's destination rules are patterns an operator wrote. Three forms, no more, so that a
rule can be read at a glance and means one thing:

* `https://hooks.example.com/team` exactly this destination
* `https://hooks.example.com/*` everything that begins so
* `*@example.com` every address at this domain

A rule of `*` alone allows everything.
"""

import json
from collections.abc import Iterable

from ledgers.models import Channel


def allowed_by(destination: str, rules: Iterable[str]) -> str | None:
    """The first rule that allows a normalised destination, or None if none does."""
    return next((rule for rule in rules if _allows(rule, destination)), None)


def _allows(rule: str, destination: str) -> bool:
    if rule.startswith("*@"):
        return destination.count("@") == 1 and destination.endswith(rule[1:])
    if rule.endswith("*"):
        return destination.startswith(rule[:-1])
    return destination == rule


def covered_by(rule: str, rules: Iterable[str]) -> bool:
    """Whether every destination that this rule allows is allowed by one of these already."""
    return any(_covers(wide, rule) for wide in rules)


def _covers(wide: str, rule: str) -> bool:
    if wide in {rule, "*"}:
        return True
    if rule.startswith("*"):  # of a domain, or of everything: no narrower pattern covers those
        return False
    if rule.endswith("*"):
        return wide.endswith("*") and rule[:-1].startswith(wide[:-1])
    return _allows(wide, rule)


def rule_complaints(rules: object) -> list[str]:
    """What is wrong with a credential's destination rules, in words an operator can act on."""
    if not isinstance(rules, list) or not all(isinstance(rule, str) and rule for rule in rules):
        return [
            'destination_rules: write a list of patterns, such as ["https://hooks.example.com/*"].'
        ]
    return [complaint for rule in rules if (complaint := _rule_complaint(rule))]


def _rule_complaint(rule: str) -> str:
    if not rule.isprintable() or rule != rule.strip():
        return (
            f"destination_rules: {rule!a} has a character that nobody can see, so it allows"
            " nothing and looks as if it allowed something; type it anew."
        )
    inner = rule[1:] if rule.startswith("*@") else rule.removesuffix("*")
    if "*" in inner:
        return (
            f"destination_rules: {rule!r} has a * in the middle; only a last * or *@domain works."
        )
    scheme, found, rest = rule.partition("://")
    if found and rule.endswith("*") and "/" not in rest:
        return (
            f"destination_rules: {rule!r} would also allow {scheme}://{rest.rstrip('*')}.evil.example;"
            f" end the host with a slash: {rule.rstrip('*')}/*"
        )
    return ""


def frozen_authority(channel: Channel, fingerprint: str, rule: str | None) -> str:
    """What an attempt keeps of its authority, as JSON. Never a secret."""
    return json.dumps(
        {
            "credential": channel.credential.name,
            "fingerprint": fingerprint,
            "scopes_granted": channel.credential.scopes,
            "scopes_used": channel.scopes_required,
            "destination_rule": rule,
        }
    )
