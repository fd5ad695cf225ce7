"""Names, their queues and the signals about them, as python3-dbus sees them."""
import dbus
from dbus.bus import (NAME_FLAG_ALLOW_REPLACEMENT, NAME_FLAG_DO_NOT_QUEUE,
                      NAME_FLAG_REPLACE_EXISTING)
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "com.example.Name"

DBusGMainLoop(set_as_default=True)
buses = [dbus.bus.BusConnection(dbus.bus.BusConnection.TYPE_SESSION) for _ in range(4)]
short = {bus.get_unique_name(): "peer%d" % i for i, bus in enumerate(buses)}
watcher = buses[3]


def settle():
    """Waits until the watcher has all signals that were sent so far."""
    watcher.get_name_owner("org.freedesktop.DBus")
    while GLib.MainContext.default().iteration(False):
        pass


def queue():
    owners = watcher.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus").ListQueuedOwners(
        NAME, dbus_interface="org.freedesktop.DBus")
    return [short[o] for o in owners]


def attempt(what, function, *args):
    try:
        print(what, function(*args))
    except dbus.DBusException as e:
        print(what, e.get_dbus_name(), e.get_dbus_message())
    settle()


watcher.add_signal_receiver(
    lambda name, old, new: print("  NameOwnerChanged", name, short.get(old, old), short.get(new, new)),
    "NameOwnerChanged", "org.freedesktop.DBus", arg0=NAME)
for i, bus in enumerate(buses[:3]):
    for member in "NameAcquired", "NameLost":
        bus.add_signal_receiver(
            lambda name, i=i, member=member: name == NAME and print("  peer%d" % i, member),
            member, "org.freedesktop.DBus")

a, b, c = buses[:3]
attempt("a requests", a.request_name, NAME)
attempt("a again", a.request_name, NAME, NAME_FLAG_ALLOW_REPLACEMENT)
attempt("b does not queue", b.request_name, NAME, NAME_FLAG_DO_NOT_QUEUE)
attempt("b queues", b.request_name, NAME)
attempt("c replaces", c.request_name, NAME, NAME_FLAG_REPLACE_EXISTING)
attempt("queue", queue)
attempt("b replaces", b.request_name, NAME, NAME_FLAG_REPLACE_EXISTING)
attempt("a releases", a.release_name, NAME)
attempt("c releases", c.release_name, NAME)
attempt("queue", queue)
attempt("a releases what it has not", a.release_name, NAME)
attempt("nobody's", a.release_name, "com.example.Other")
attempt("a queues", a.request_name, NAME)
b.close()
del b, buses[1]
settle()
attempt("queue", queue)
attempt("invalid", a.request_name, "com.example.")
attempt("unique", a.request_name, ":1.2345")
attempt("the bus's", a.request_name, "org.freedesktop.DBus")
attempt("owner", lambda: short[a.get_name_owner(NAME)])
attempt("nobody", a.get_name_owner, "com.example.Other")
attempt("start", a.start_service_by_name, NAME)
attempt("start nobody", a.start_service_by_name, "com.example.Other")
attempt("user", a.get_unix_user, NAME)
