package differential_test

import (
	"hash/fnv"
	"time"
)

// limit is how long calls may go unanswered where there is a limit.
const limit = 400 * time.Millisecond

// maxFDs is how many descriptors a message may have where there is a limit.
const maxFDs = 2

// A world is a configuration in which sessions take place.
type world struct {
	name   string
	config string
	share  int  // of 100 sessions
	sleeps bool // calls have a time limit
}

// seed lets the sessions of two worlds differ.
func (w *world) seed() uint64 {
	h := fnv.New64a()
	h.Write([]byte(w.name))
	return h.Sum64()
}

const head = `<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth>`

const allowAll = `<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>`

// worlds are a session bus, one with limits that are reached, one with denials
// of every kind, a bus like the system's, where nothing is allowed that is not
// said to be, and one where calls have a time limit.
var worlds = []world{
	{name: "session", share: 50, config: head + allowAll + `</busconfig>`},
	{name: "limits", share: 15, config: head + allowAll + `
		<limit name="max_match_rules_per_connection">3</limit>
		<limit name="max_names_per_connection">3</limit>
		<limit name="max_replies_per_connection">2</limit>
		<limit name="max_message_unix_fds">2</limit>
		<limit name="max_message_size">4096</limit>
		<limit name="max_completed_connections">5</limit>
		<limit name="max_connections_per_user">5</limit>
	</busconfig>`},
	{name: "denials", share: 20, config: head + allowAll + `
		<policy context="default">
			<deny send_interface="com.example.J"/>
			<deny send_destination="com.example.C" send_interface="com.example.I" send_member="N"/>
			<deny send_type="signal" send_path="/a/bc"/>
			<deny send_type="error" send_error="com.example.Error.Y"/>
			<deny send_broadcast="true" send_interface="com.example.J.K"/>
			<deny send_destination_prefix="com.example.A" send_type="method_call" send_interface="com.example.I" send_member="Other"/>
			<deny send_requested_reply="false" send_type="method_return"/>
			<deny receive_interface="com.example.I" receive_member="Other"/>
			<deny receive_sender="com.example.D" receive_type="signal"/>
			<deny receive_requested_reply="false" receive_type="error"/>
			<deny send_type="method_call" min_fds="2"/>
			<deny eavesdrop="true" receive_path="/a/b/c"/>
			<deny own="com.example.D"/>
			<deny own_prefix="com.example_x"/>
			<deny send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus" send_member="ListNames"/>
			<deny send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Debug.Stats" send_member="GetAllMatchRules"/>
			<deny receive_sender="org.freedesktop.DBus" receive_interface="org.freedesktop.DBus" receive_member="NameLost"/>
		</policy>
		<policy user="root"><allow own="com.example_x.y-z"/></policy>
		<policy context="mandatory"><deny send_destination="com.example.A.B" send_path="/a"/></policy>
	</busconfig>`},
	{name: "system", share: 13, config: head + `
		<policy context="default">
			<allow user="*"/>
			<deny own="*"/>
			<deny send_type="method_call"/>
			<allow send_type="signal"/>
			<allow send_requested_reply="true" send_type="method_return"/>
			<allow send_requested_reply="true" send_type="error"/>
			<allow receive_type="method_call"/>
			<allow receive_type="method_return"/>
			<allow receive_type="error"/>
			<allow receive_type="signal"/>
			<allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus"/>
			<allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Introspectable"/>
			<allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Properties"/>
			<deny send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus" send_member="UpdateActivationEnvironment"/>
			<deny send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Debug.Stats"/>
		</policy>
		<policy context="default">
			<allow own_prefix="com.example.A"/>
			<allow own="com.example.C"/>
			<allow send_destination="com.example.A"/>
			<allow send_destination="com.example.C" send_interface="com.example.I"/>
		</policy>
		<policy user="root">
			<allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Monitoring"/>
			<allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Debug.Stats" send_member="GetStats"/>
		</policy>
	</busconfig>`},
	{name: "late", share: 2, sleeps: true, config: head + allowAll + `<limit name="reply_timeout">400</limit></busconfig>`},
}
