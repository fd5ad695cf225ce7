"""A service and its clients in one process, with types, signals and errors."""
import os

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

INTERFACE = "com.example.Service"
DBusGMainLoop(set_as_default=True)
served = dbus.bus.BusConnection(dbus.bus.BusConnection.TYPE_SESSION)
client = dbus.bus.BusConnection(dbus.bus.BusConnection.TYPE_SESSION)
loop = GLib.MainLoop()


class Refusal(dbus.DBusException):
    _dbus_error_name = "com.example.Refusal"


class Service(dbus.service.Object):
    @dbus.service.method(INTERFACE, in_signature="a{sv}(xy)as", out_signature="sa{sv}")
    def Mixed(self, values, pair, words):
        return " ".join(words) + str(pair), values

    @dbus.service.method(INTERFACE, in_signature="h", out_signature="s")
    def Read(self, fd):
        with os.fdopen(fd.take()) as file:
            return file.read()

    @dbus.service.method(INTERFACE)
    def Refuse(self):
        raise Refusal("not today")

    @dbus.service.method(INTERFACE, in_signature="u")
    def Tick(self, n):
        for i in range(n):
            self.Ticked(i, "even" if i % 2 == 0 else "odd")

    @dbus.service.signal(INTERFACE, signature="us")
    def Ticked(self, i, parity):
        pass


name = dbus.service.BusName("com.example.Served", served)
Service(name, "/com/example/object")
pending = 0


def call(member, *args):
    global pending
    pending += 1

    def done(*result):
        global pending
        pending -= 1
        print(member, *result)
        if pending == 0:
            loop.quit()

    proxy.get_dbus_method(member, INTERFACE)(
        *args, reply_handler=done, error_handler=lambda e: done(e.get_dbus_name(), e.get_dbus_message()))
    if pending > 0 and not loop.is_running():
        loop.run()


proxy = client.get_object("com.example.Served", "/com/example/object", introspect=False)
odd = []
client.add_signal_receiver(lambda i, parity: odd.append(int(i)), "Ticked", INTERFACE, arg1="odd")
every = []
client.add_signal_receiver(
    lambda i, parity, path, sender: every.append((int(i), path)), "Ticked", INTERFACE,
    bus_name="com.example.Served", path="/com/example/object", path_keyword="path", sender_keyword="sender")
call("Mixed", {"i": dbus.Int32(-5), "list": dbus.Array([1.5], signature="d")}, (dbus.Int64(1 << 60), dbus.Byte(7)), ["a", "\u0105\u2192"])
read, write = os.pipe()
os.write(write, b"through the pipe")
os.close(write)
call("Read", dbus.types.UnixFd(read))
call("Refuse")
call("Missing")
call("Tick", dbus.UInt32(6))
print(odd)
print(every)
call("Mixed", {"big": dbus.ByteArray(b"x" * 300000)}, (dbus.Int64(0), dbus.Byte(0)), [])
print(client.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus").NameHasOwner("com.example.Served"))
served.close()
print(client.name_has_owner("com.example.Served"))
