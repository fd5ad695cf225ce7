package main

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"quartet/kit/pool"
	"quartet/kit/timing"
	"quartet/services/botd/internal/config"
	"quartet/services/botd/internal/upstream"
)

const (
	dialTimeout = 5 * time.Second // bounds one attempt to connect to a public server
	callTimeout = 15 * time.Second
)

// upstreams are the servers that commands ask.
type upstreams struct {
	cats    *upstream.CatPool
	commons *upstream.Commons
	fetcher *upstream.Fetcher
}

// openUpstreams makes the clients, each with connections of its own and all
// through one guard, which lets them reach public addresses only.
func openUpstreams(cfg config.Config, in *timing.Instruments, log *slog.Logger) (*upstreams, error) {
	guard := upstream.NewGuard(cfg.UpstreamAllow, net.Dialer{Timeout: dialTimeout})
	client := func(name string, conns int) *pool.Client {
		c := pool.New(name, pool.Options{MaxConns: conns, Timeout: callTimeout, Dial: guard.Dial, Start: in.Peer(name).StartUpstream})
		in.ObservePool(c)
		return c
	}
	hosts, err := upstream.ParseHosts(slices.Concat(upstream.PictureHosts, cfg.PictureHosts, cfg.UpstreamAllow))
	if err != nil {
		return nil, fmt.Errorf("BOTD_PICTURE_HOSTS: %w", err)
	}
	pictures := upstream.NewPictures(cfg.UserAgent, client("pictures", cfg.Limit), hosts) // one for both: it remembers who asked to be left alone
	cats := upstream.NewCatAPI(&cfg.CatURL, string(cfg.CatKey), cfg.UserAgent, client("thecatapi", cfg.Limit), pictures)
	return &upstreams{
		cats:    upstream.NewCatPool(cats.Random, upstream.CatPoolOptions{Ready: cfg.CatPool, Keep: max(cfg.CatPool, keptCats), Log: log}),
		commons: upstream.NewCommons(&cfg.CommonsURL, cfg.UserAgent, client("commons", 1), pictures),
		fetcher: upstream.NewFetcher(cfg.UserAgent, client("commands", cfg.Limit)),
	}, nil
}

// keptCats are kept for when there is no other.
const keptCats = 4
