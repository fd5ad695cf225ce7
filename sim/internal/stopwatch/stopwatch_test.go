package stopwatch_test

import (
	"testing"
	"time"

	"quartet/sim/internal/stopwatch"
)

var noon = time.Date(2026, 8, 29, 12, 0, 0, 0, time.UTC)

func ask(w *stopwatch.Watch, sender, group string, timestamp int64, at time.Duration) {
	w.Ask(stopwatch.Question{Sender: sender, Group: group, Timestamp: timestamp, Due: noon.Add(at - time.Millisecond), Asked: noon.Add(at)})
}

func TestAQuoteFindsItsQuestion(t *testing.T) {
	w := stopwatch.New()
	ask(w, "ala", "g", 1, 0)
	ask(w, "bartek", "g", 1, time.Millisecond)
	w.Answer(stopwatch.Answer{Chat: "g", Author: "bartek", Quotes: 1, At: noon.Add(4 * time.Millisecond)})
	w.Answer(stopwatch.Answer{Chat: "g", Author: "bartek", Quotes: 1, At: noon.Add(5 * time.Millisecond)})
	r := w.Report()
	if r.Asked != 2 || r.Answered != 1 || r.Open != 1 || r.ByQuote != 1 || r.Unmatched != 1 || r.Emission.P50 != 3 || r.Due.Max != 4 {
		t.Errorf("%+v", r)
	}
}

func TestWithoutAQuoteTheOldestQuestionOfTheChatIsAnswered(t *testing.T) {
	w := stopwatch.New()
	ask(w, "ala", "", 1, 0)
	ask(w, "ala", "g", 2, 0)
	ask(w, "ala", "", 3, 0)
	w.Answer(stopwatch.Answer{Chat: "ala", At: noon.Add(time.Millisecond)})
	w.Answer(stopwatch.Answer{Chat: "ala", At: noon.Add(9 * time.Millisecond)})
	w.Answer(stopwatch.Answer{Chat: "ala", At: noon.Add(10 * time.Millisecond)})
	r := w.Report()
	if r.ByOrder != 2 || r.Unmatched != 1 || r.Open != 1 || r.Emission.Count != 2 || r.Emission.P50 != 1 || r.Emission.Max != 9 {
		t.Errorf("%+v", r)
	}
}

func TestAnswersThatOvertakeAreCounted(t *testing.T) {
	w := stopwatch.New()
	for i := int64(1); i <= 4; i++ {
		ask(w, "ala", "g", i, 0)
	}
	for _, quoted := range []int64{1, 3, 2, 4} {
		w.Answer(stopwatch.Answer{Chat: "g", Author: "ala", Quotes: quoted, At: noon})
	}
	if r := w.Report(); r.OutOfOrder != 1 {
		t.Errorf("%+v", r)
	}
}

func TestQuestionsThatNobodyAnswersAreForgottenInTheirOrder(t *testing.T) {
	w := stopwatch.New()
	for i := range int64(65_536 + 10) {
		ask(w, "ala", "", i+1, 0)
	}
	r := w.Report()
	if r.Forgotten != 10 || r.Open != 65_536 {
		t.Errorf("%+v", r)
	}
	w.Answer(stopwatch.Answer{Chat: "ala", Author: "ala", Quotes: 10, At: noon})
	w.Answer(stopwatch.Answer{Chat: "ala", Author: "ala", Quotes: 11, At: noon})
	if r := w.Report(); r.Unmatched != 1 || r.Answered != 1 {
		t.Errorf("%+v", r)
	}
}

func TestPercentilesAreTimesThatWereMeasured(t *testing.T) {
	w := stopwatch.New()
	for i := range int64(1000) {
		ask(w, "ala", "", i+1, 0)
		w.Answer(stopwatch.Answer{Chat: "ala", At: noon.Add(time.Duration(i+1) * time.Millisecond)})
	}
	e := w.Report().Emission
	if e.Count != 1000 || e.P50 != 500 || e.P95 != 950 || e.P99 != 990 || e.P999 != 999 || e.Max != 1000 || e.Mean != 500.5 {
		t.Errorf("%+v", e)
	}
}

func TestANewTextIsAnsweredByAQuoteOfEitherMessage(t *testing.T) {
	for _, quoted := range []int64{5, 9} {
		w := stopwatch.New()
		w.Ask(stopwatch.Question{Sender: "ala", Timestamp: 9, EditOf: 5, Due: noon, Asked: noon})
		for range 2 {
			w.Answer(stopwatch.Answer{Chat: "ala", Author: "ala", Quotes: quoted, At: noon})
		}
		if r := w.Report(); r.Asked != 1 || r.Answered != 1 || r.Unmatched != 1 || r.Open != 0 {
			t.Errorf("quoting %d: %+v", quoted, r)
		}
	}
}
