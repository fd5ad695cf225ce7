package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"quartet/kit/journal/disk"
	"quartet/kit/timing"
	"quartet/services/botd/internal/config"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/heard"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/people"
	"quartet/services/botd/internal/rules"
	"quartet/services/botd/internal/schedule"
	"quartet/services/botd/internal/spill"
	"quartet/services/botd/internal/store"
)

// state is what the bot remembers.
type state struct {
	store    *store.Store
	ledger   *ledger.Ledger
	gate     *cooldown.Gate
	people   *people.People
	rules    *rules.Rules
	heard    *heard.Book
	schedule *schedule.Book
	spill    *spill.Spill // nil without a folder
}

// openState reads what an earlier life of the bot left in its folder.
func openState(fs disk.FS, cfg config.Config, in *timing.Instruments) (*state, error) {
	always := cfg.Sync == "always"
	w := store.New(fs, store.Options{
		Dir: cfg.StateDir, Always: always,
		OnWrite: in.JournalWrite("botd.store"), OnSync: in.JournalSync("botd.store"),
	})
	s := &state{
		store:    w,
		ledger:   ledger.New(w),
		gate:     cooldown.New(w),
		people:   people.New(w),
		rules:    rules.New(w),
		heard:    heard.New(w),
		schedule: schedule.New(w),
	}
	if err := w.Open(s.ledger, s.gate, s.people, s.rules, s.heard, s.schedule); err != nil {
		return nil, fmt.Errorf("BOTD_STATE_DIR: %w", err)
	}
	if err := errors.Join(s.ledger.Recover(), s.gate.Tidy(time.Now())); err != nil {
		return nil, errors.Join(fmt.Errorf("BOTD_STATE_DIR: %w", err), w.Close())
	}
	if cfg.StateDir == "" {
		return s, nil
	}
	in.ObserveJournal("botd.store", w)
	if cfg.SpillBytes == 0 {
		return s, nil
	}
	var err error
	if s.spill, err = spill.Open(fs, filepath.Join(cfg.StateDir, "spill"), spill.Options{
		MaxBytes: int64(cfg.SpillBytes), Always: always, Safe: w.Sync,
		OnWrite: in.JournalWrite("botd.spill"), OnSync: in.JournalSync("botd.spill"),
	}); err != nil {
		return nil, errors.Join(fmt.Errorf("BOTD_STATE_DIR: %w", err), w.Close())
	}
	in.ObserveJournal("botd.spill", s.spill)
	return s, nil
}

func (s *state) close() error {
	var err error
	if s.spill != nil {
		err = s.spill.Close()
	}
	return errors.Join(err, s.store.Close())
}
