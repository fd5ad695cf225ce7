package service_test

import (
	"bytes"
	"strings"
	"testing"

	"quartet/services/busd/internal/service"
)

func TestParseReadsEveryKey(t *testing.T) {
	got, err := service.Parse([]byte("# a comment\n\n[D-BUS Service]\nName=org.example.Echo\nExec=/usr/bin/echo-service --flag\n" +
		"User=nobody\nSystemdService=echo.service\nAssumedAppArmorLabel=/usr/bin/echo-service\nX-Other=1\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := service.Service{
		Name: "org.example.Echo", Exec: "/usr/bin/echo-service --flag", User: "nobody",
		SystemdService: "echo.service",
	}
	if got != want {
		t.Errorf("Parse gave %+v, want %+v", got, want)
	}
	if got.FileName() != "org.example.Echo.service" {
		t.Errorf("FileName is %q", got.FileName())
	}
}

func TestParse(t *testing.T) {
	const head = "[D-BUS Service]\nName=a.b\n"
	for _, c := range []struct {
		name, text, exec, fault string
	}{
		{name: "ExecMayBeAbsent", text: head},
		{name: "NoNewlineAtTheEnd", text: head + "Exec=/x", exec: "/x"},
		{name: "CRLF", text: "[D-BUS Service]\r\nName=a.b\r\nExec=/x\r\n", exec: "/x"},
		{name: "CR", text: "[D-BUS Service]\rName=a.b\rExec=/x\r", exec: "/x"},
		{name: "SpacesAroundEquals", text: head + "Exec  =  /x y", exec: "/x y"},
		{name: "SpacesBehindAValueBelongToIt", text: head + "Exec=/x ", exec: "/x "},
		{name: "Escapes", text: head + `Exec=\sa\tb\nc\rd\\e`, exec: " a\tb\nc\rd\\e"},
		{name: "FirstOfEqualKeysCounts", text: head + "Exec=/x\nExec=/y", exec: "/x"},
		{name: "FirstOfEqualGroupsCounts", text: head + "Exec=/x\n[D-BUS Service]\nExec=/y\nUser=u", exec: "/x"},
		{name: "OtherGroupsAreIgnored", text: "[A]\nExec=/y\n" + head + "Exec=/x\n[B]\nExec=/z", exec: "/x"},
		{name: "TranslatedKeysAreIgnored", text: head + "Exec[de]=/y\\q\nExec=/x", exec: "/x"},
		{name: "BlankLines", text: " \t\f\n" + head + "\n \nExec=/x", exec: "/x"},
		{name: "EqualsInAValue", text: head + "Exec=/x --a=b", exec: "/x --a=b"},
		{name: "NotASCII", text: head + "Exec=/ünï", exec: "/ünï"},
		{name: "AByteOrderMarkIsNoKey", text: "\ufeff" + head, fault: "line 1: a key stands before"},
		// dbus-daemon 1.7.4 crashed here.
		{name: "KeyBeforeTheFirstGroup", text: "Name=a.b\n" + head, fault: "line 1: a key stands before"},
		{name: "Empty", text: "", fault: "no group"},
		{name: "OtherGroupOnly", text: "[Desktop Entry]\nName=a.b\n", fault: "no group"},
		{name: "NameAbsent", text: "[D-BUS Service]\nExec=/x\n", fault: "no Name="},
		{name: "NameEmpty", text: "[D-BUS Service]\nName=\n", fault: "no Name="},
		{name: "NotUTF8", text: head + "Exec=/\xff", fault: "UTF-8"},
		{name: "Surrogate", text: head + "Exec=/\xed\xa0\x80", fault: "UTF-8"},
		{name: "NUL", text: head + "Exec=/x\x00y", fault: "line 3: the value has a NUL"},
		{name: "UnknownEscape", text: head + `Exec=\q`, fault: "line 3: the value has an unknown escape"},
		{name: "OpenEscape", text: head + `Exec=a\`, fault: "line 3: the value ends inside"},
		{name: "NoEquals", text: head + "Exec", fault: "line 3: there is no = behind the key Exec"},
		{name: "UnderscoreInAKey", text: head + "My_Key=1", fault: "line 3: there is no ="},
		{name: "SpaceBeforeAKey", text: head + " Exec=/x", fault: "line 3: the line begins with no key"},
		{name: "NoKey", text: head + "=/x", fault: "line 3: the line begins with no key"},
		{name: "HeaderLeftOpen", text: "[D-BUS Service\nName=a.b", fault: "line 1: a group header"},
		{name: "HeaderEmpty", text: "[]\n" + head, fault: "line 1: a group header"},
		{name: "TextBehindTheHeader", text: "[D-BUS Service] \nName=a.b", fault: "line 1: a group header"},
		{name: "BracketInTheHeader", text: "[D-BUS [Service]\nName=a.b", fault: "line 1: '['"},
		{name: "FaultInAnotherGroup", text: head + "[A]\nb", fault: "line 4: there is no ="},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := service.Parse([]byte(c.text))
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Fatalf("the error is %v, want one with %q", err, c.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != "a.b" || got.Exec != c.exec || got.User != "" {
				t.Errorf("Parse gave %+v, want Exec %q", got, c.exec)
			}
		})
	}
}

func TestHugeFileIsRefused(t *testing.T) {
	text := append([]byte("[D-BUS Service]\nName=a.b\n#"), bytes.Repeat([]byte("x"), service.MaxSize)...)
	if _, err := service.Parse(text); err == nil {
		t.Error("a file over MaxSize was taken")
	}
	if _, err := service.Parse(text[:service.MaxSize]); err != nil {
		t.Errorf("a file of MaxSize was refused: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"[D-BUS Service]\nName=a.b\nExec=/x\nUser=u\nSystemdService=a.service\n",
		"[D-BUS Service]\r\nName = a.b\r\nName[de]=c\r\n# x\r\n[Other]\r\nk=v",
		"[D-BUS Service]\nName=a.b\nExec=\\s\\t\\n\\r\\\\", "[D-BUS Service]\nName=a.b\nExec=\\",
		"Name=a.b", "[]", "[", "]", "=", "", "\x00", "[\x00]\n", "[D-BUS Service]\nName",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := service.Parse(text)
		if err != nil {
			if s != (service.Service{}) {
				t.Errorf("an error came with %+v", s)
			}
			return
		}
		if s.Name == "" || strings.IndexByte(s.Name+s.Exec+s.User+s.SystemdService, 0) >= 0 {
			t.Errorf("Parse took %+v", s)
		}
		escape := strings.NewReplacer(`\`, `\\`, " ", `\s`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
		again, err := service.Parse([]byte("[D-BUS Service]\nName=" + escape.Replace(s.Name) + "\nExec=" + escape.Replace(s.Exec)))
		if len(text) < service.MaxSize/4 && (err != nil || again.Name != s.Name || again.Exec != s.Exec) {
			t.Errorf("%+v came back as %+v, %v", s, again, err)
		}
	})
}
