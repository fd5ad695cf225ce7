package said_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/said"
)

var update = flag.Bool("update", false, "rewrite testdata")

// example is one message with values to try it with.
type example struct {
	method string
	text   string
}

// examples calls every message.
func examples(l said.Lang) []example {
	seconds := asked.Param{Name: "seconds", Kind: asked.Number, Max: 3600}
	params := []asked.Param{{Name: "command", Kind: asked.Word}, seconds, {Name: "words", Kind: asked.Rest, Optional: true}}
	usage := l.Usage("!przerwa", params)
	all := []example{
		{"HelpHeader", l.HelpHeader(said.InGroup)},
		{"HelpHeader", l.HelpHeader(said.InDirect)},
		{"HelpHeader", l.HelpHeader(said.ForAdmins)},
		{"HelpLine", l.HelpLine("!kot", nil, l.About(said.Cat))},
		{"HelpLine", l.HelpLine("!kot", []string{"!cat", "!kitty"}, l.About(said.Cat))},
		{"HelpLine", l.HelpLine("!kot", []string{"!cat"}, "")},
		{"HelpLine", l.HelpLine("!kot", nil, "")},
		{"Usage", usage},
		{"Wait", l.Wait("!kot", 2500*time.Millisecond)},
		{"Failed", l.Failed()},
		{"DidYouMean", l.DidYouMean("!kot")},
		{"TooManyWaiting", l.TooManyWaiting(1)},
		{"TooManyWaiting", l.TooManyWaiting(3)},
		{"TooManyWaiting", l.TooManyWaiting(16)},
		{"TooManyPictures", l.TooManyPictures(3 * time.Second)},
		{"NotAllowed", l.NotAllowed("!status")},
		{"OnlyInGroups", l.OnlyInGroups("!kot")},
		{"OnlyDirect", l.OnlyDirect("!ja")},
		{"NotHere", l.NotHere("!kot")},
		{"OffHere", l.OffHere("!kot")},
		{"UnknownGroup", l.UnknownGroup("Koty", "!dopuść group.QUJD")},
		{"UnknownGroup", l.UnknownGroup("", "!dopuść group.QUJD")},
		{"AboutYou", l.AboutYou("Ala", 1, "!zapomnij")},
		{"AboutYou", l.AboutYou("", 22, "!zapomnij")},
		{"NothingAboutYou", l.NothingAboutYou("Ala")},
		{"Forgotten", l.Forgotten()},
		{"OptedOut", l.OptedOut("!zapomnij cofnij")},
		{"OptedIn", l.OptedIn()},
		{"NoPicture", l.NoPicture("kot w butach")},
		{"GroupAllowed", l.GroupAllowed("Koty")},
		{"GroupLeft", l.GroupLeft("Koty")},
		{"PersonIgnored", l.PersonIgnored()},
		{"PersonHeard", l.PersonHeard()},
		{"NoUUID", l.NoUUID()},
		{"AdminsHeard", l.AdminsHeard()},
		{"TooManyKept", l.TooManyKept()},
		{"DebugOn", l.DebugOn(time.Date(2026, 5, 6, 7, 8, 0, 0, time.UTC), "!podsłuch wyłącz")},
		{"DebugFull", l.DebugFull()},
		{"DebugOff", l.DebugOff()},
		{"Fixed", l.Fixed("!pomoc")},
		{"SwitchedOn", l.SwitchedOn("!kot")},
		{"SwitchedOff", l.SwitchedOff("!kot")},
		{"CooldownSet", l.CooldownSet("!kot", 90*time.Second)},
		{"CooldownSet", l.CooldownSet("!kot", 0)},
		{"CooldownUnset", l.CooldownUnset("!kot")},
		{"NoCommand", l.NoCommand("kott")},
		{"BadArguments", l.BadArguments(&asked.Misfit{Reason: asked.Missing, Param: params[0]}, usage)},
		{"BadArguments", l.BadArguments(&asked.Misfit{Reason: asked.NotNumber, Param: seconds, Got: "dużo"}, usage)},
		{"BadArguments", l.BadArguments(&asked.Misfit{Reason: asked.NotPerson, Param: asked.Param{Name: "person", Kind: asked.Person}, Got: "Ala"}, l.Usage("!ignoruj", []asked.Param{{Name: "person", Kind: asked.Person}}))},
		{"BadArguments", l.BadArguments(&asked.Misfit{Reason: asked.OutOfRange, Param: seconds, Got: "3601"}, usage)},
		{"BadArguments", l.BadArguments(&asked.Misfit{Reason: asked.TooMany, Got: "x"}, usage)},
		{"BadArguments", l.BadArguments(&asked.Misfit{Reason: asked.Unfit, Param: asked.Param{Name: "switch"}, Got: "może"}, l.Usage("!podsłuch", []asked.Param{{Name: "switch"}}))},
		{"Caption", l.Caption(said.Credit{Title: "Kot rudy", Author: "Ala Kowalska", Licence: "CC BY-SA 4.0", Source: "https://commons.example/1"})},
		{"Caption", l.Caption(said.Credit{Title: "Kot rudy", Licence: "Public domain"})},
		{"Caption", l.Caption(said.Credit{Author: "Ala Kowalska", Source: "https://commons.example/1"})},
		{"State", l.State(said.State{Up: 90061 * time.Second, Transport: "websocket", Answered: 1000, Failed: 3, Unknown: 1, Dropped: 12,
			Waiting: 2, WaitingBytes: 1025, Spilled: 7,
			Own:      said.Spread{P50: 80 * time.Microsecond, P95: 300 * time.Microsecond, P99: time.Millisecond, Sum: 80 * time.Millisecond},
			Upstream: said.Spread{P50: 386 * time.Millisecond, P95: time.Second, P99: 2 * time.Second, Sum: 40 * time.Second},
			Send:     said.Spread{P50: 9999 * time.Microsecond, P95: 2648 * time.Millisecond, P99: 4 * time.Second, Sum: 20 * time.Second}})},
		{"State", l.State(said.State{Transport: "json-rpc", NotReady: "no frame for 90 s"})},
		{"Lasting", l.Lasting(5 * time.Hour)},
		{"In", l.In(0)},
		{"In", l.In(26*time.Hour + 59*time.Second)},
	}
	for topic := said.Help; topic <= said.Debug; topic++ {
		all = append(all, example{"About", l.About(topic)})
	}
	for _, name := range []string{"command", "group", "person", "seconds", "number", "word", "words", "lasting", "switch", "miasto"} {
		all = append(all, example{"Param", l.Param(name)})
	}
	return all
}

func TestMessagesReadAsWritten(t *testing.T) {
	for _, l := range []said.Lang{said.Polish, said.English} {
		var out strings.Builder
		for _, e := range examples(l) {
			fmt.Fprintf(&out, "%s\n\t%s\n", e.method, strings.ReplaceAll(e.text, "\n", "\n\t"))
		}
		path := filepath.Join("testdata", l.String()+".golden")
		if *update {
			if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if out.String() != string(want) {
			t.Errorf("%s differs; run with -update and read the diff:\n%s", path, out.String())
		}
	}
}

func TestEveryMessageIsInTheExamplesAndFitsIntoOneMessage(t *testing.T) {
	for _, l := range []said.Lang{said.Polish, said.English} {
		called := map[string]bool{"String": true}
		for _, e := range examples(l) {
			called[e.method] = true
			if e.text == "" || strings.ContainsAny(e.text, "{}|") {
				t.Errorf("%s says %q", e.method, e.text)
			}
			if len(e.text) > 2000 {
				t.Errorf("%s says %d bytes", e.method, len(e.text))
			}
		}
		for m := range reflect.TypeFor[said.Lang]().Methods() {
			if !called[m.Name] {
				t.Errorf("%s has no example", m.Name)
			}
		}
	}
}
