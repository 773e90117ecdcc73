"""How many destinations a message was recorded with, frozen with it."""

from django.db import migrations, models

# What is there is counted once, behind the trigger that freezes it; then the count is frozen too.
COUNT = """
ALTER TABLE ledgers_message DISABLE TRIGGER content_is_frozen;
UPDATE ledgers_message m SET destinations = (
    SELECT count(DISTINCT d.destination) FROM ledgers_delivery d
    WHERE d.message_id = m.id AND d.generation = 1);
ALTER TABLE ledgers_message ENABLE TRIGGER content_is_frozen;
DROP TRIGGER content_is_frozen ON ledgers_message;
CREATE TRIGGER content_is_frozen BEFORE UPDATE ON ledgers_message
    FOR EACH ROW WHEN (
        NEW.payload IS NOT NULL
        OR current_setting('counterfoil.erasing', true) IS DISTINCT FROM OLD.id::text
        OR (OLD.step_id, OLD.name, OLD.channel_id, OLD.payload_hash, OLD.contract, OLD.parts,
            OLD.destinations, OLD.not_before, OLD.not_after)
           IS DISTINCT FROM
           (NEW.step_id, NEW.name, NEW.channel_id, NEW.payload_hash, NEW.contract, NEW.parts,
            NEW.destinations, NEW.not_before, NEW.not_after))
    EXECUTE FUNCTION ledgers_refuse('a message is frozen when it is recorded');
"""


class Migration(migrations.Migration):
    dependencies = (("ledgers", "0006_asked"),)
    operations = (
        migrations.AddField(
            "message",
            "destinations",
            models.PositiveIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
    )
