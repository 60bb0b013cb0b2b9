# SPDX-License-Identifier: Apache-2.0
"""Django: users are made and loaded by its ORM, in a database in memory."""
import django
from django.conf import settings

USES = ["django", "sqlite3", "asgiref"]

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
                   INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth"], USE_TZ=True,
                   DEFAULT_AUTO_FIELD="django.db.models.AutoField")
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402


def create(count):
    User.objects.bulk_create(User(username=f"user{n}", email=f"user{n}@example.org") for n in range(count))


def load():
    return list(User.objects.all())


call_command("migrate", verbosity=0)
create(20_000)
users = load()
print({"load": None})
