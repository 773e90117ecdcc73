"""All settings, read from the environment and from .env; .env.example documents each one.

Two modes. `local` (the default): one person on one machine, plain HTTP on the loopback address, a
secret key made on first use. `production`: nothing is made up, HTTPS only, and what is missing is
an error at start-up.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF

from config import databases, secret_key
from config.environment import DAY_S, Environment, WrongSettingError, console_url

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment(BASE_DIR / ".env")

# --- Where it runs ---------------------------------------------------------------------------
COUNTERFOIL_MODE: str = env.one_of("COUNTERFOIL_MODE", ("local", "production"), "local")
_production = COUNTERFOIL_MODE == "production"
DATABASE_URL: str = env.text("DATABASE_URL")
COUNTERFOIL_DATA: Path = env.folder(
    "COUNTERFOIL_DATA", ".data/main", BASE_DIR, needed=not (_production and DATABASE_URL)
)

DEBUG: bool = env.flag("COUNTERFOIL_DEBUG", default=False)
SECRET_KEY: str = env.text("SECRET_KEY") or secret_key.kept_in(
    COUNTERFOIL_DATA, allowed=not _production
)
ALLOWED_HOSTS: list[str] = env.names(
    "COUNTERFOIL_ALLOWED_HOSTS", [] if _production else ["localhost", "127.0.0.1", "[::1]"]
)
if not ALLOWED_HOSTS:
    raise WrongSettingError(
        "COUNTERFOIL_ALLOWED_HOSTS",
        "is not set, and COUNTERFOIL_MODE is production",
        "the names under which browsers reach the console, such as console.example.com",
    )
CSRF_TRUSTED_ORIGINS: list[str] = env.names("COUNTERFOIL_TRUSTED_ORIGINS")
# What every page of the console says about where it runs, so that nobody takes one for another.
COUNTERFOIL_ENVIRONMENT: str = env.text("COUNTERFOIL_ENVIRONMENT", COUNTERFOIL_MODE, most=20)

# --- Apps ------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "config.console.ConsoleConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
    "axes",
    "django_q",
    "ledgers",
    "delivery",
    "reviews",
    "config",
]
MIDDLEWARE = [
    # First: what asks whether all is well depends on nothing else being well.
    "config.health.gate.HealthMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "reviews.middleware.ExpiredSessionMiddleware",
    "reviews.middleware.PatienceMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Database --------------------------------------------------------------------------------
COUNTERFOIL_STATEMENT_TIMEOUT_S: int = env.whole(
    "COUNTERFOIL_STATEMENT_TIMEOUT_S", 60, least=1, most=DAY_S
)
COUNTERFOIL_IDLE_TRANSACTION_TIMEOUT_S: int = env.whole(
    "COUNTERFOIL_IDLE_TRANSACTION_TIMEOUT_S", 30, least=1, most=DAY_S
)
COUNTERFOIL_FSYNC: bool = env.flag("COUNTERFOIL_FSYNC", default=True)
_limits = databases.Limits(
    statement_s=COUNTERFOIL_STATEMENT_TIMEOUT_S,
    idle_transaction_s=COUNTERFOIL_IDLE_TRANSACTION_TIMEOUT_S,
)
DATABASES = {
    "default": (
        databases.from_url(env.database("DATABASE_URL"), _limits)
        if DATABASE_URL
        else databases.embedded(COUNTERFOIL_DATA, _limits, fsync=COUNTERFOIL_FSYNC)
    )
}

# django-q2 keeps its clusters' heartbeats in the cache, so all processes must share one. A file
# cache serves one machine without a database write per beat; name another for several machines.
CACHES = {
    "default": env.cache("COUNTERFOIL_CACHE_URL")
    or {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": COUNTERFOIL_DATA / "cache",
    }
}

# --- django-q2 -------------------------------------------------------------------------------
# A supervisor and a clock, never the guarantee: the rows in the ledger decide. These values were
# the ones that behaved: retry > timeout * (1 + ceil((queue_limit + 1) / workers)), nothing
# prefetched in bulk, one attempt per task, a guard that does kill a stuck task.
Q_CLUSTER: dict[str, Any] = {
    "name": "counterfoil",
    "orm": "default",
    "workers": 2,
    "queue_limit": 2,
    "bulk": 1,
    "timeout": 120,
    "retry": 1800,
    "max_attempts": 1,
    "ack_failures": True,
    "catch_up": False,
    "save_limit": 500,
    "guard_cycle": 0.5,
    "poll": 0.2,
}

# --- Workers ----------------------------------------------------------------------------------
# Calls that one worker makes at the same time.
COUNTERFOIL_CONCURRENCY: int = env.whole("COUNTERFOIL_CONCURRENCY", 32, least=1, most=1000)
# On where a q cluster runs: recording then asks it for a shift. Off, its tasks would pile up.
COUNTERFOIL_QCLUSTER: bool = env.flag("COUNTERFOIL_QCLUSTER", default=False)
# What runs here, as every attempt records it: a version or a commit.
COUNTERFOIL_BUILD: str = env.text("COUNTERFOIL_BUILD", "unversioned", most=60)
# Where this host keeps, outside the database, how far it knew the ledger: a folder.
COUNTERFOIL_MARK: Path = env.folder(
    "COUNTERFOIL_MARK", str(COUNTERFOIL_DATA / "mark"), BASE_DIR, needed=False
)
# What tells this host from a copy of it. Unset: its machine-id and its name.
COUNTERFOIL_HOST: str = env.text("COUNTERFOIL_HOST", most=200)

# A new installation comes with the channel `notes`; those of the demo and of the tests do not.
COUNTERFOIL_FIRST_CHANNEL = True

# --- Decisions --------------------------------------------------------------------------------
# How many people decide here. With 1, what otherwise takes a second person takes a wait.
COUNTERFOIL_APPROVERS: int = env.whole("COUNTERFOIL_APPROVERS", 2, least=1, most=1000)
# For how long a person may take back what they let be sent; nothing leaves before.
COUNTERFOIL_UNDO_S: float = env.number("COUNTERFOIL_UNDO_S", 30, least=0, most=DAY_S)
# How old what the destination showed may be when somebody decides to send again.
COUNTERFOIL_EVIDENCE_S: float = env.number("COUNTERFOIL_EVIDENCE_S", 900, least=0, most=7 * DAY_S)

# --- Retention --------------------------------------------------------------------------------
# What came to rest more days ago may be purged, once somebody does.
COUNTERFOIL_RETENTION_DAYS: int = env.whole("COUNTERFOIL_RETENTION_DAYS", 365, least=1, most=36_500)

# --- Alarms -----------------------------------------------------------------------------------
# Addresses, and a URL, that `manage.py watch --push` tells what is wrong.
COUNTERFOIL_ALARM_MAIL: list[str] = env.names("COUNTERFOIL_ALARM_MAIL")
COUNTERFOIL_ALARM_WEBHOOK: str = env.text("COUNTERFOIL_ALARM_WEBHOOK")
# Signs what the webhook gets.
COUNTERFOIL_ALARM_WEBHOOK_SECRET: str = env.text("COUNTERFOIL_ALARM_WEBHOOK_SECRET")
# A dead-man's switch outside, pinged after each look whose alarms could be told.
COUNTERFOIL_DEADMAN_URL: str = env.text("COUNTERFOIL_DEADMAN_URL")
# Who may read /livez/delivery and /metrics: whoever sends the token, or calls from here.
COUNTERFOIL_PROBE_TOKEN: str = env.text("COUNTERFOIL_PROBE_TOKEN")
COUNTERFOIL_PROBE_ADDRESSES: list[str] = env.names(
    "COUNTERFOIL_PROBE_ADDRESSES", [] if _production else ["127.0.0.1", "::1"]
)
# Where browsers reach the console; links in alarms begin with it.
COUNTERFOIL_CONSOLE_URL: str = env.text("COUNTERFOIL_CONSOLE_URL") or console_url(
    ALLOWED_HOSTS, production=_production
)
_mail = env.mail("EMAIL_URL")
EMAIL_BACKEND: str = _mail["EMAIL_BACKEND"]
EMAIL_HOST: str = _mail["EMAIL_HOST"]
EMAIL_PORT: int = _mail["EMAIL_PORT"]
EMAIL_HOST_USER: str = _mail["EMAIL_HOST_USER"]
EMAIL_HOST_PASSWORD: str = _mail["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS: bool = _mail["EMAIL_USE_TLS"]
EMAIL_USE_SSL: bool = _mail["EMAIL_USE_SSL"]
EMAIL_FILE_PATH: str | None = _mail["EMAIL_FILE_PATH"]
EMAIL_TIMEOUT = 10  # seconds, for each step of handing a mail over
DEFAULT_FROM_EMAIL: str = env.text("DEFAULT_FROM_EMAIL", "counterfoil@localhost")

# --- Language and time -----------------------------------------------------------------------
LANGUAGE_CODE = "en-us"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "config.formats"  # a language's formats win over any that stand here

# --- Static files: found in the apps, so that nothing needs to be collected first -------------
STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

# --- Sign-in ---------------------------------------------------------------------------------
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"  # also where the address to go on to is not one of ours
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
# Ten wrong passwords for one name from one address close that way for a quarter of an hour. Not
# the name alone: anybody could then lock out the person on call.
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "console/locked_out.html"
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# --- Safety of the pages ---------------------------------------------------------------------
SESSION_COOKIE_NAME = "counterfoil_session"
CSRF_COOKIE_NAME = "counterfoil_csrf"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _production
SECURE_HSTS_SECONDS = (
    env.whole("COUNTERFOIL_HSTS_S", 365 * DAY_S, least=0, most=2 * 365 * DAY_S)
    if _production
    else 0
)
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Nothing inline and nothing from another host: remote text that slips through runs nowhere.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}
# Longest single statement of a request to the console: a search that is too broad ends with words.
COUNTERFOIL_PATIENCE_S: float = env.number("COUNTERFOIL_PATIENCE_S", 3, least=0.05, most=600)
COUNTERFOIL_BEHIND_PROXY: bool = env.flag("COUNTERFOIL_BEHIND_PROXY", default=False)
if COUNTERFOIL_BEHIND_PROXY:
    # Only a proxy that always sets these headers may be trusted with them.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    AXES_CLIENT_IP_CALLABLE = "config.visitors.address"
SILENCED_SYSTEM_CHECKS = [
    # Whether subdomains are HTTPS only, and listed so in browsers, is for the owner of the domain.
    "security.W005",
    "security.W021",
]

# --- Logging: plain lines on standard error; whoever starts the process decides where they go ---
COUNTERFOIL_LOG_LEVEL: str = env.one_of(
    "COUNTERFOIL_LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR"), "INFO"
)
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "plain"},
    },
    "root": {"handlers": ["stderr"], "level": COUNTERFOIL_LOG_LEVEL},
    "loggers": {
        # Its debug lines show addresses, and an address can hold a secret.
        "urllib3": {"level": "WARNING"},
        # Says of every sign-in that it has nothing to say.
        "axes": {"level": "WARNING"},
    },
}
