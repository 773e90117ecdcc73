"""Requests for changes are guarded as decisions are, lists too, and two people are two accounts.

What somebody approved must be what was asked for, and stay so, whichever way a row is written.
Names alone do not tell people apart: an account may be renamed between request and approval.
"""

from django.db import migrations, models
from django.db.models import F, Q

GUARDS = """
CREATE TRIGGER kept BEFORE DELETE ON reviews_proposal
    FOR EACH ROW WHEN (OLD.stage <> 'draft')
    EXECUTE FUNCTION ledgers_refuse('changes are the audit record');
CREATE TRIGGER asked_is_frozen BEFORE UPDATE ON reviews_proposal
    FOR EACH ROW WHEN (OLD.stage <> 'draft' AND
        (OLD.channel_id, OLD.credential_id, OLD.before, OLD.after, OLD.row_version,
         OLD.authority_version, OLD.gate, OLD.reason, OLD.requested_by, OLD.requester_id,
         OLD.requested_at)
        IS DISTINCT FROM
        (NEW.channel_id, NEW.credential_id, NEW.before, NEW.after, NEW.row_version,
         NEW.authority_version, NEW.gate, NEW.reason, NEW.requested_by, NEW.requester_id,
         NEW.requested_at))
    EXECUTE FUNCTION ledgers_refuse('what was asked for is frozen');
CREATE TRIGGER executed_is_final BEFORE UPDATE ON reviews_proposal
    FOR EACH ROW WHEN (OLD.stage NOT IN ('draft', 'requested'))
    EXECUTE FUNCTION ledgers_refuse('what became of a change is the audit record');

-- What a decision is about is its list: it is as frozen as its words are.
CREATE FUNCTION reviews_refuse_unless_draft() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    its_decision bigint;
BEGIN
    IF TG_OP = 'DELETE' THEN
        its_decision := OLD.decision_id;
    ELSE
        its_decision := NEW.decision_id;
    END IF;
    IF EXISTS (
        SELECT 1 FROM reviews_decision d WHERE d.id = its_decision AND d.stage <> 'draft'
    ) THEN
        RAISE EXCEPTION '% on % is refused: what was asked for is frozen', TG_OP, TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER listed_before_asked BEFORE INSERT OR DELETE ON reviews_decidedrow
    FOR EACH ROW EXECUTE FUNCTION reviews_refuse_unless_draft();
CREATE TRIGGER seen_is_frozen BEFORE UPDATE ON reviews_decidedrow
    FOR EACH ROW WHEN (
        (OLD.decision_id, OLD.delivery_id, OLD.row_version, OLD.status, OLD.evidence,
         OLD.decision_before, OLD.decided_before, OLD.withdrawn_before)
        IS DISTINCT FROM
        (NEW.decision_id, NEW.delivery_id, NEW.row_version, NEW.status, NEW.evidence,
         NEW.decision_before, NEW.decided_before, NEW.withdrawn_before))
    EXECUTE FUNCTION ledgers_refuse('what was seen is frozen');
"""
UNGUARDED = """
DROP TRIGGER kept ON reviews_proposal;
DROP TRIGGER asked_is_frozen ON reviews_proposal;
DROP TRIGGER executed_is_final ON reviews_proposal;
DROP TRIGGER listed_before_asked ON reviews_decidedrow;
DROP TRIGGER seen_is_frozen ON reviews_decidedrow;
DROP FUNCTION reviews_refuse_unless_draft;
"""
ACCOUNTS = Q(approver__isnull=False) & ~Q(approver=F("requester"))


class Migration(migrations.Migration):
    dependencies = (("reviews", "0003_proposals"),)
    operations = (
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                name="decision_two_people_have_two_accounts",
                condition=~Q(gate="two", stage__in=["executed", "undone"]) | ACCOUNTS,
            ),
        ),
        migrations.AddConstraint(
            model_name="proposal",
            constraint=models.CheckConstraint(
                name="proposal_two_people_have_two_accounts",
                condition=~Q(gate="two", stage="executed") | ACCOUNTS,
            ),
        ),
        migrations.RunSQL(GUARDS, UNGUARDED),
    )
