package main

import (
	"errors"
	"fmt"
	"os"
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
	spill    *spill.Spill // nil without a folder, or where nothing may wait in it
}

// openState reads what an earlier life of the bot left in its folder.
func openState(fs disk.FS, cfg config.Config, in *timing.Instruments) (*state, error) {
	w := store.New(fs, store.Options{
		Dir: cfg.StateDir, Always: cfg.Sync == "always",
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
	if err := s.openSpill(fs, cfg, in); err != nil {
		return nil, errors.Join(fmt.Errorf("BOTD_STATE_DIR: %w", err), w.Close())
	}
	return s, nil
}

// leftBytes is what a spill may take that is only open for what was left in it.
const leftBytes = 64 << 20

// openSpill opens the spill if there is to be one, or if an earlier life with one
// left messages in it: they are answered, and gone from the disk, before the bot
// does without.
func (s *state) openSpill(fs disk.FS, cfg config.Config, in *timing.Instruments) error {
	dir, most := filepath.Join(cfg.StateDir, "spill"), int64(cfg.SpillBytes)
	if most == 0 {
		if left, err := fs.List(dir); errors.Is(err, os.ErrNotExist) || err == nil && len(left) == 0 {
			return nil
		}
		most = leftBytes
	}
	opened, err := spill.Open(fs, dir, spill.Options{
		MaxBytes: most, Always: cfg.Sync == "always", Safe: s.store.Sync,
		OnWrite: in.JournalWrite("botd.spill"), OnSync: in.JournalSync("botd.spill"),
	})
	if err != nil {
		return err
	}
	if cfg.SpillBytes == 0 && opened.Len() == 0 {
		return opened.Close()
	}
	s.spill = opened
	in.ObserveJournal("botd.spill", opened)
	return nil
}

func (s *state) close() error {
	var err error
	if s.spill != nil {
		err = s.spill.Close()
	}
	return errors.Join(err, s.store.Close())
}
