"""The safety net under a q cluster: a shift every minute, whatever wake-ups were lost.

In a migration, because two processes that call `schedule(name=…)` at once make two rows.
"""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def schedule_shift(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    schedule = apps.get_model("django_q", "Schedule")
    schedule.objects.using(editor.connection.alias).get_or_create(
        name="counterfoil: work what is due",
        defaults={
            "func": "delivery.tasks.work_shift",
            "schedule_type": "I",
            "minutes": 1,
            "repeats": -1,
            "kwargs": "{'q_options': {'timeout': -1, 'save': False}}",
        },
    )


class Migration(migrations.Migration):
    dependencies = (
        ("delivery", "0001_initial"),
        ("django_q", "0019_alter_task_options_alter_ormq_key_alter_ormq_lock_and_more"),
    )
    operations = (migrations.RunPython(schedule_shift, migrations.RunPython.noop),)
