package server

import (
	"fmt"
	"log"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/agentcard"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/engine"
	"github.com/skillyard/skillyard/guard"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/push"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/skills/boards"
	"github.com/skillyard/skillyard/skills/boards/files"
	"github.com/skillyard/skillyard/skills/boards/lakefs"
	"github.com/skillyard/skillyard/skills/kinds"
	"github.com/skillyard/skillyard/skills/processmanager"
)

// BuildSkills makes the skills of a configuration. dataDir is where the boards are
// unless the configuration says otherwise; nothing is read before a skill runs.
func BuildSkills(cfg *configs.Config, dataDir string, l zerolog.Logger) (*skills.Set, error) {
	source, err := buildBoards(cfg.Boards, dataDir, l)
	if err != nil {
		return nil, err
	}
	deps := kinds.Deps{Boards: source, Report: processmanager.Options{
		Timezone: cfg.Report.Timezone, Language: cfg.Report.Language,
		MondayThisWeek: cfg.Report.Monday == "this_week", MaxDays: cfg.Report.MaxDays,
		MaxBoards: cfg.Report.MaxBoards, MaxRows: cfg.Report.MaxRows,
		Lookback: cfg.Report.Lookback, Rewind: cfg.Report.Rewind, Parallel: cfg.Report.Parallel,
	}}
	entries := make([]skills.Entry, 0, len(cfg.Skills))
	for _, s := range cfg.Skills {
		e, err := kinds.Build(kinds.Spec{
			Kind: s.Kind,
			Info: skills.Info{
				ID: a2a.SkillID(s.ID), Name: s.Name, Description: s.Description, Tags: s.Tags,
				Examples: s.Examples, InputModes: s.InputModes, OutputModes: s.OutputModes,
			},
			Limits: skills.Limits{
				Concurrency: s.Concurrency, Queue: s.Queue, QueueTotal: s.QueueTotal, Timeout: s.Timeout,
				MaxOutputBytes: int64(s.MaxOutputBytes), MaxAttempts: s.MaxAttempts, MaxValues: s.MaxValues,
			},
			Retry: skills.Retry(s.Retry), StrictInput: s.StrictInput, Settings: s.Settings.JSON(),
			Busy: skills.Busy(s.Busy), Serial: s.Serial, AnswerWithin: s.AnswerWithin, DefaultAnswer: s.DefaultAnswer,
			InputSchema: s.InputSchema.JSON(), OutputSchema: s.OutputSchema.JSON(),
		}, deps)
		if err != nil {
			return nil, fmt.Errorf("build skills: %w", err)
		}
		e.Private = s.Private
		entries = append(entries, e)
	}
	set, err := skills.NewSet(a2a.SkillID(cfg.DefaultSkill), entries...)
	if err != nil {
		return nil, fmt.Errorf("build skills: %w", err)
	}
	return set, nil
}

// buildBoards makes the board source, and lays the demo workspace down in an
// empty directory.
func buildBoards(cfg configs.Boards, dataDir string, l zerolog.Logger) (boards.Source, error) {
	l = l.With().Str("component", "boards").Logger()
	if cfg.Source == "lakefs" {
		c := cfg.LakeFS
		return lakefs.New(lakefs.Options{
			Endpoint: c.Endpoint, AccessKey: c.AccessKeyID, SecretKey: lakefs.Secret(c.SecretAccessKey.Reveal()),
			Repository: c.Repository, Branch: c.Branch, Prefix: &c.Prefix, Timeout: c.Timeout,
			Parallel: c.Parallel, CacheBytes: cacheBytes(c.CacheBytes), MaxObjectBytes: int64(c.MaxObjectBytes),
			MaxObjects: c.MaxObjects, MaxCommits: c.MaxCommits, MaxDiffs: c.MaxDiffs, Log: l,
		})
	}
	f := cfg.Files
	return files.New(files.Options{
		Dir: f.Path(dataDir), MaxFileBytes: int64(f.MaxFileBytes), MaxObjects: f.MaxObjects,
		CacheBytes: cacheBytes(f.CacheBytes), Parallel: f.Parallel, Log: l,
	})
}

// cacheBytes is the size of a cache as the sources take it: their zero is their
// default, ours is none.
func cacheBytes(n configs.Size) int64 {
	if n == 0 {
		return -1
	}
	return int64(n)
}

// LayDemo fills the boards directory with the demo workspace, if the configuration
// wants it and the directory has no boards yet.
func LayDemo(cfg *configs.Config, dataDir string) error {
	if cfg.Boards.Source != "files" || !cfg.Boards.Files.Demo {
		return nil
	}
	return files.LayDown(cfg.Boards.Files.Path(dataDir), time.Now())
}

// buildPush makes the worker that calls webhooks, and what the engine needs of it;
// nil when push is off.
func (a *App) buildPush(version string) (*engine.PushOptions, error) {
	c := a.cfg.Push
	if !c.Enabled {
		return nil, nil
	}
	allowed, err := guard.New(guard.Options{
		AllowPrivateNetworks: c.AllowPrivateNetworks, AllowHTTP: c.AllowHTTP || c.AllowPrivateNetworks,
		AllowedHosts: c.AllowedHosts,
	})
	if err != nil {
		return nil, err
	}
	secrets := make([]string, len(c.Secrets))
	for i, s := range c.Secrets {
		secrets[i] = s.Reveal()
	}
	a.push, err = push.New(push.Options{
		Store: a.store, Dialects: a.dialects, Guard: allowed,
		Workers: c.Workers, PerHost: c.PerHost, Timeout: c.Timeout,
		Attempts: c.Attempts, RetryFirst: c.RetryFirst, RetryMax: c.RetryMax,
		Secrets: secrets, Version: version, Log: a.log.With().Str("component", "push").Logger(),
	})
	if err != nil {
		return nil, err
	}
	return &engine.PushOptions{Store: a.store, Check: allowed.Check, Max: c.MaxPerTask, Notify: a.push.Notify}, nil
}

// BuildCard makes the cards of a set of skills. addr is the address the server
// listens on.
func BuildCard(cfg *configs.Config, set *skills.Set, addr, version string) (*agentcard.Server, error) {
	keys, err := loadKeys(cfg.Auth)
	if err != nil {
		return nil, err
	}
	base := resolver(cfg, addr)
	c := cfg.Card
	signer, err := BuildSigner(cfg)
	if err != nil {
		return nil, err
	}
	if c.Version == "" {
		c.Version = version
	}
	return agentcard.New(agentcard.ServerOptions{
		Options: agentcard.Options{
			Interfaces: interfaces(cfg),
			Extensions: extensions(cfg), Signer: signer,
			Skills: set, Name: c.Name, Description: c.Description, Version: c.Version,
			Provider:         agentcard.Provider{Organization: c.Provider.Organization, URL: c.Provider.URL},
			DocumentationURL: c.DocumentationURL, IconURL: c.IconURL, Extended: c.Extended, Streaming: cfg.Stream.Enabled, PushNotifications: cfg.Push.Enabled,
			Secured: keys.Declared(), SecurityRequirements: c.SecurityRequirements,
		},
		Base: base.Base, Vary: base.Vary(), Mode: agentcard.Variant(c.Mode), MaxAge: c.MaxAge,
		Private: cfg.Auth.ProtectCard, Caller: callerOf, Modified: time.Now(), NotFound: http.HandlerFunc(notFound),
	})
}

// resolver finds the public URL of a request.
func resolver(cfg *configs.Config, addr string) agentcard.Resolver {
	return agentcard.Resolver{PublicURL: cfg.Server.PublicURL, Trusted: cfg.Server.TrustedPrefixes(), Addr: addr}
}

// BuildSigner makes the signer of the cards of a configuration; nil without keys.
func BuildSigner(cfg *configs.Config) (*agentcard.Signer, error) {
	s := cfg.Card.Signing
	if len(s.Keys) == 0 {
		return nil, nil
	}
	if s.JKU == "" {
		s.JKU = strings.TrimRight(cfg.Server.PublicURL, "/") + agentcard.KeysPath
	}
	keys := make([]agentcard.SigningKey, len(s.Keys))
	for i, k := range s.Keys {
		keys[i] = agentcard.SigningKey{KID: k.KID, PEM: k.PEM.Reveal()}
	}
	signer, err := agentcard.NewSigner(s.JKU, keys...)
	if err != nil {
		return nil, fmt.Errorf("card.signing: %w", err)
	}
	return signer, nil
}

// callerOf is who authentication found a request to come from.
func callerOf(r *http.Request) a2a.Caller { return access.From(r.Context()).Caller }

// activatable are the extensions that clients can activate: those of the configuration,
// and that with the skills' schemas, which each card declares for the skills it shows.
func activatable(cfg *configs.Config, set *skills.Set) a2a.Extensions {
	list := extensions(cfg)
	typed := slices.ContainsFunc(set.All(), func(e *skills.Entry) bool { return e.InputSchema != nil || e.OutputSchema != nil })
	if typed {
		list = append(list, a2a.Extension{URI: a2a.ExtSkillSchema})
	}
	return list
}

// extensions are the extensions that every card declares: the server's own and those of
// the configuration, which may declare one of the server's in its own way.
func extensions(cfg *configs.Config) a2a.Extensions {
	list := a2a.Extensions{{
		URI:         a2a.ExtSkillSelection,
		Description: `Choose the skill by "skillId" in the metadata of the request or the message.`,
	}}
	if cfg.Stream.Enabled {
		list = append(list, a2a.Extension{
			URI:         a2a.ExtEventSequence,
			Description: "Number the events of a task, to resume a stream where it broke off.",
		})
	}
	list = append(list, a2a.Extension{
		URI:         a2a.ExtIdempotencyKey,
		Description: "Send a message again under the same Idempotency-Key header and get the first answer.",
	})
	for _, x := range cfg.Card.Extensions {
		e := a2a.Extension{URI: x.URI, Description: x.Description, Required: x.Required}
		if params := x.Params.JSON(); string(params) != "{}" {
			e.Params = params
		}
		own := slices.IndexFunc(list, func(o a2a.Extension) bool { return o.URI == x.URI })
		switch {
		case own < 0:
			list = append(list, e)
			continue
		case e.Description == "":
			e.Description = list[own].Description
		}
		list[own] = e
	}
	return list
}

// What a full card names: the path of JSON-RPC, and that below which REST is, in 0.3
// with /v1 between.
const (
	endpoint = "/api/a2a/tasks"
	restBase = "/rest"
)

// interfaces are the ways to call this server, the preferred one first.
func interfaces(cfg *configs.Config) []agentcard.Interface {
	const skill = "/skills/{id}"
	rpc := agentcard.Interface{URL: endpoint, SkillURL: skill, Binding: agentcard.BindingJSONRPC}
	rest := agentcard.Interface{URL: restBase, SkillURL: skill + restBase, Binding: agentcard.BindingREST}
	var list []agentcard.Interface
	for _, version := range []string{agentcard.Version1, agentcard.Version03} {
		for _, i := range []agentcard.Interface{rpc, rest} {
			i.Version = version
			list = append(list, i)
		}
		if addr := cfg.GRPC.Public(cfg.Server.PublicURL); addr != "" {
			list = append(list, agentcard.Interface{URL: addr, Binding: agentcard.BindingGRPC, Version: version})
		}
	}
	return list
}

// stdLog carries what net/http has to say into the log.
func stdLog(l zerolog.Logger) *log.Logger { return log.New(httpLog{l}, "", 0) }

type httpLog struct{ log zerolog.Logger }

func (h httpLog) Write(p []byte) (int, error) {
	h.log.Warn().Str("component", "http").Msg(strings.TrimSpace(string(p)))
	return len(p), nil
}
