"""The form of the sign-in page."""

from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.models import User
from django.forms import TextInput

LONGEST = User.username.field.max_length


class SignInForm(AdminAuthenticationForm):
    """A name that no account can have is refused before it is counted as a wrong one.

    Django tells only the browser how long a name may be. The table of wrong ones is narrower than
    what anybody may send, so that a long name would be a server error.
    """

    username = UsernameField(max_length=LONGEST, widget=TextInput(attrs={"autofocus": True}))
