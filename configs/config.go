package configs

import (
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"time"
)

// Config is everything a server can be told. The documentation of each key, with
// its unit and default, is in skillyard.yaml; a zero duration or count means what
// is said there. A Config that Load returned is valid; it is never changed
// afterwards.
type Config struct {
	Server       Server  `yaml:"server" envPrefix:"SERVER_"`
	Log          Log     `yaml:"log" envPrefix:"LOG_"`
	Auth         Auth    `yaml:"auth" envPrefix:"AUTH_"`
	Limits       Limits  `yaml:"limits" envPrefix:"LIMITS_"`
	Runs         Runs    `yaml:"runs" envPrefix:"RUNS_"`
	Stream       Stream  `yaml:"stream" envPrefix:"STREAM_"`
	Store        Store   `yaml:"store" envPrefix:"STORE_"`
	Boards       Boards  `yaml:"boards" envPrefix:"BOARDS_"`
	Card         Card    `yaml:"card" envPrefix:"CARD_"`
	Compat       Compat  `yaml:"compat" envPrefix:"COMPAT_"`
	Report       Report  `yaml:"report" envPrefix:"REPORT_"`
	Push         Push    `yaml:"push" envPrefix:"PUSH_"`
	GRPC         GRPC    `yaml:"grpc" envPrefix:"GRPC_"`
	DefaultSkill string  `yaml:"default_skill" env:"DEFAULT_SKILL" validate:"required"`
	Skills       []Skill `yaml:"skills" env:"-" validate:"required,min=1,dive"`

	// from is where the values came from, for messages about them.
	from *document
}

// Server is how the server listens and stops.
type Server struct {
	Addr              string        `yaml:"addr" env:"ADDR" validate:"required"`
	PublicURL         string        `yaml:"public_url" env:"PUBLIC_URL"`
	TrustedProxies    []string      `yaml:"trusted_proxies" env:"TRUSTED_PROXIES"`
	CORSOrigins       []string      `yaml:"cors_origins" env:"CORS_ORIGINS"`
	MaxBodyBytes      Size          `yaml:"max_body_bytes" env:"MAX_BODY_BYTES" validate:"gte=1024"`
	MaxJSONDepth      int           `yaml:"max_json_depth" env:"MAX_JSON_DEPTH" validate:"gte=8,lte=1000"`
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout" env:"READ_HEADER_TIMEOUT" validate:"gt=0"`
	ReadTimeout       time.Duration `yaml:"read_timeout" env:"READ_TIMEOUT" validate:"gte=0"`
	IdleTimeout       time.Duration `yaml:"idle_timeout" env:"IDLE_TIMEOUT" validate:"gt=0"`
	DrainDelay        time.Duration `yaml:"drain_delay" env:"DRAIN_DELAY" validate:"gte=0"`
	ShutdownTimeout   time.Duration `yaml:"shutdown_timeout" env:"SHUTDOWN_TIMEOUT" validate:"gt=0"`
	RequestID         bool          `yaml:"request_id" env:"REQUEST_ID"`
}

// TrustedPrefixes returns TrustedProxies as prefixes; a single address is a
// prefix of its full length. It skips what validation would have refused.
func (s Server) TrustedPrefixes() []netip.Prefix {
	var ps []netip.Prefix
	for _, text := range s.TrustedProxies {
		if p, err := parsePrefix(text); err == nil {
			ps = append(ps, p)
		}
	}
	return ps
}

// Log is what is logged and how.
type Log struct {
	Level  string `yaml:"level" env:"LEVEL" validate:"oneof=trace debug info warn error"`
	Format string `yaml:"format" env:"FORMAT" validate:"oneof=auto json console"`
}

// Auth is who may call.
type Auth struct {
	Keys        []Key `yaml:"keys" env:"-" validate:"dive"`
	ProtectCard bool  `yaml:"protect_card" env:"PROTECT_CARD"`
	// Required is "auto", "true" or "false"; see Enforced.
	Required string `yaml:"required" env:"REQUIRED" validate:"oneof=auto true false"`
}

// Enforced reports whether a request without a valid key is refused: as set, else
// whether there are keys.
func (a Auth) Enforced() bool {
	return a.Required == "true" || a.Required != "false" && len(a.Keys) > 0
}

// Key is one API key, given as itself, as a file that holds it, or as its hash.
// After Load, Key or SHA256 is set; File has been read into Key.
type Key struct {
	// Name is the caller: tasks belong to the name, so a key can be replaced.
	// Two entries with one name are one caller.
	Name string `yaml:"name" validate:"required,max=64"`
	Key  Secret `yaml:"key"`
	// SHA256 is the lower-case hex SHA-256 of the key.
	SHA256 string `yaml:"sha256" validate:"omitempty,len=64,hexadecimal"`
	File   string `yaml:"file"`
	Tenant string `yaml:"tenant" validate:"max=64"`
	// Skills are the ids of the only skills the caller may use; empty means all.
	Skills []string `yaml:"skills"`
}

// Limits bound what callers may ask for.
type Limits struct {
	Read       Rate `yaml:"read" envPrefix:"READ_"`
	Write      Rate `yaml:"write" envPrefix:"WRITE_"`
	Wait       Wait `yaml:"wait" envPrefix:"WAIT_"`
	Streams    int  `yaml:"streams" env:"STREAMS" validate:"gte=0"`
	MaxParts   int  `yaml:"max_parts" env:"MAX_PARTS" validate:"gte=1"`
	MaxIDBytes int  `yaml:"max_id_bytes" env:"MAX_ID_BYTES" validate:"gte=36,lte=65536"`
}

// Rate is a number of requests per caller and time; 0 requests is no limit.
type Rate struct {
	Requests int           `yaml:"requests" env:"REQUESTS" validate:"gte=0"`
	Per      time.Duration `yaml:"per" env:"PER" validate:"gt=0"`
}

// Wait caps how long a blocking call waits, by the dialect it came in; 0 is no
// cap. Max caps the wait that a status read may ask for.
type Wait struct {
	EMM time.Duration `yaml:"emm" env:"EMM" validate:"gte=0"`
	V03 time.Duration `yaml:"0.3" env:"V03" validate:"gte=0"`
	V1  time.Duration `yaml:"1.0" env:"V1" validate:"gte=0"`
	// Plain is that of POST /skills/{skill} and /tasks/{task} in plain HTTP, if the
	// URL does not say.
	Plain time.Duration `yaml:"plain" env:"PLAIN" validate:"gte=0"`
	Max   time.Duration `yaml:"max" env:"MAX" validate:"gt=0"`
}

// For returns the cap for a dialect's name as package wire spells it; 0 is no cap.
func (w Wait) For(dialect string) time.Duration {
	switch dialect {
	case "emm":
		return w.EMM
	case "1.0":
		return w.V1
	case "plain":
		return w.Plain
	}
	return w.V03
}

// Runs is how the runs of skills are looked after.
type Runs struct {
	CancelGrace time.Duration `yaml:"cancel_grace" env:"CANCEL_GRACE" validate:"gt=0"`
	FlushAfter  time.Duration `yaml:"flush_after" env:"FLUSH_AFTER" validate:"gt=0"`
	FlushEvery  time.Duration `yaml:"flush_every" env:"FLUSH_EVERY" validate:"gt=0"`
	MaxPending  Size          `yaml:"max_pending" env:"MAX_PENDING" validate:"gte=1024"`
}

// Stream is how a task's events are sent to clients that watch it.
type Stream struct {
	Enabled      bool          `yaml:"enabled" env:"ENABLED"`
	Heartbeat    time.Duration `yaml:"heartbeat" env:"HEARTBEAT" validate:"gt=0"`
	WriteTimeout time.Duration `yaml:"write_timeout" env:"WRITE_TIMEOUT" validate:"gt=0"`
	Retry        time.Duration `yaml:"retry" env:"RETRY" validate:"gt=0"`
	Probe        bool          `yaml:"probe" env:"PROBE"`
}

// Store is where tasks are kept.
type Store struct {
	Kind string `yaml:"kind" env:"KIND" validate:"oneof=sqlite memory"`
	// Path is the database file; "" means skillyard.db in the data directory.
	Path        string        `yaml:"path" env:"PATH"`
	Synchronous string        `yaml:"synchronous" env:"SYNCHRONOUS" validate:"oneof=full normal"`
	Retention   time.Duration `yaml:"retention" env:"RETENTION" validate:"gte=0"`
	PruneEvery  time.Duration `yaml:"prune_every" env:"PRUNE_EVERY" validate:"gt=0"`
	Lease       time.Duration `yaml:"lease" env:"LEASE" validate:"gte=1s"`
	Batch       int           `yaml:"batch" env:"BATCH" validate:"gte=1,lte=10000"`
}

// File returns the database file of a server whose data directory is dataDir.
func (s Store) File(dataDir string) string { return under(dataDir, s.Path, "skillyard.db") }

// Boards is where the board skills read.
type Boards struct {
	Source string `yaml:"source" env:"SOURCE" validate:"oneof=files lakefs"`
	Files  Files  `yaml:"files" envPrefix:"FILES_"`
	LakeFS LakeFS `yaml:"lakefs" envPrefix:"LAKEFS_"`
}

// Files is a directory of JSON files.
type Files struct {
	// Dir is the directory; "" means boards in the data directory.
	Dir          string `yaml:"dir" env:"DIR"`
	Demo         bool   `yaml:"demo" env:"DEMO"`
	MaxFileBytes Size   `yaml:"max_file_bytes" env:"MAX_FILE_BYTES" validate:"gte=1024"`
	MaxObjects   int    `yaml:"max_objects" env:"MAX_OBJECTS" validate:"gte=1"`
	CacheBytes   Size   `yaml:"cache_bytes" env:"CACHE_BYTES" validate:"gte=0"`
	Parallel     int    `yaml:"parallel" env:"PARALLEL" validate:"gte=1,lte=256"`
}

// Path returns the directory of a server whose data directory is dataDir.
func (f Files) Path(dataDir string) string { return under(dataDir, f.Dir, "boards") }

// LakeFS is a lakeFS repository, read over its REST API.
type LakeFS struct {
	Endpoint        string        `yaml:"endpoint" env:"ENDPOINT"`
	AccessKeyID     string        `yaml:"access_key_id" env:"ACCESS_KEY_ID"`
	SecretAccessKey Secret        `yaml:"secret_access_key" env:"SECRET_ACCESS_KEY"`
	Repository      string        `yaml:"repository" env:"REPOSITORY"`
	Branch          string        `yaml:"branch" env:"BRANCH"`
	Prefix          string        `yaml:"prefix" env:"PREFIX"`
	Timeout         time.Duration `yaml:"timeout" env:"TIMEOUT" validate:"gt=0"`
	Parallel        int           `yaml:"parallel" env:"PARALLEL" validate:"gte=1,lte=256"`
	CacheBytes      Size          `yaml:"cache_bytes" env:"CACHE_BYTES" validate:"gte=0"`
	MaxObjectBytes  Size          `yaml:"max_object_bytes" env:"MAX_OBJECT_BYTES" validate:"gte=1024"`
	MaxObjects      int           `yaml:"max_objects" env:"MAX_OBJECTS" validate:"gte=1"`
	MaxCommits      int           `yaml:"max_commits" env:"MAX_COMMITS" validate:"gte=1"`
	MaxDiffs        int           `yaml:"max_diffs" env:"MAX_DIFFS" validate:"gte=1"`
}

// Card is what the agent card says beside the skills.
type Card struct {
	Name        string `yaml:"name" env:"NAME" validate:"required"`
	Description string `yaml:"description" env:"DESCRIPTION" validate:"required"`
	// Version is the agent's version; "" means the program's.
	Version              string        `yaml:"version" env:"VERSION"`
	Provider             Provider      `yaml:"provider" envPrefix:"PROVIDER_"`
	DocumentationURL     string        `yaml:"documentation_url" env:"DOCUMENTATION_URL"`
	IconURL              string        `yaml:"icon_url" env:"ICON_URL"`
	Mode                 string        `yaml:"mode" env:"MODE" validate:"oneof=hybrid v1"`
	MaxAge               time.Duration `yaml:"max_age" env:"MAX_AGE" validate:"gte=0"`
	Extended             bool          `yaml:"extended" env:"EXTENDED"`
	SecurityRequirements bool          `yaml:"security_requirements" env:"SECURITY_REQUIREMENTS"`
	Extensions           []Extension   `yaml:"extensions" env:"-" validate:"dive"`
	Signing              Signing       `yaml:"signing" envPrefix:"SIGNING_"`
}

// Signing is how cards are signed; they are not without keys.
type Signing struct {
	// Keys all sign each card, so that a key can be replaced.
	Keys []SigningKey `yaml:"keys" env:"-" validate:"dive"`
	// JKU is the URL of the public keys; "" means where this server has them.
	JKU string `yaml:"jku" env:"JKU"`
}

// SigningKey is a private key in PKCS #8, of P-256 or Ed25519.
type SigningKey struct {
	// KID is its id; "" means its thumbprint (RFC 7638).
	KID  string `yaml:"kid" validate:"max=256"`
	File string `yaml:"file" validate:"required"`
	// PEM is what was in File, after Load.
	PEM Secret
}

// Extension is an extension of the protocol that the card declares. What it brings is
// between the clients and the skills, which find it in the message's metadata.
type Extension struct {
	URI         string `yaml:"uri" validate:"required,max=1024"`
	Description string `yaml:"description"`
	// Required refuses work for clients that do not activate it.
	Required bool `yaml:"required"`
	// Params are shown on the card as they are; they are no secret.
	Params Settings `yaml:"params"`
}

// Provider is who runs the agent; empty when Organization is.
type Provider struct {
	Organization string `yaml:"organization" env:"ORGANIZATION"`
	URL          string `yaml:"url" env:"URL"`
}

// Compat chooses where the protocol's text and its clients differ.
type Compat struct {
	StrictVersion bool   `yaml:"strict_version" env:"STRICT_VERSION"`
	Errors        string `yaml:"errors" env:"ERRORS" validate:"oneof=1.0.1 1.0.0"`
	StreamErrors  string `yaml:"stream_errors" env:"STREAM_ERRORS" validate:"oneof=event json"`
}

// Report is how weekly_report counts.
type Report struct {
	Timezone  string        `yaml:"timezone" env:"TIMEZONE" validate:"timezone"`
	Monday    string        `yaml:"monday" env:"MONDAY" validate:"oneof=last_full_week this_week"`
	Language  string        `yaml:"language" env:"LANGUAGE" validate:"oneof=en uk"`
	MaxDays   int           `yaml:"max_days" env:"MAX_DAYS" validate:"gte=1,lte=3660"`
	MaxBoards int           `yaml:"max_boards" env:"MAX_BOARDS" validate:"gte=1"`
	MaxRows   int           `yaml:"max_rows" env:"MAX_ROWS" validate:"gte=1"`
	Lookback  time.Duration `yaml:"lookback" env:"LOOKBACK" validate:"gt=0"`
	Rewind    time.Duration `yaml:"rewind" env:"REWIND" validate:"gt=0"`
	Parallel  int           `yaml:"parallel" env:"PARALLEL" validate:"gte=1,lte=256"`
}

// Push is how notifications to clients' webhooks are sent.
type Push struct {
	Enabled              bool     `yaml:"enabled" env:"ENABLED"`
	AllowPrivateNetworks bool     `yaml:"allow_private_networks" env:"ALLOW_PRIVATE_NETWORKS"`
	AllowHTTP            bool     `yaml:"allow_http" env:"ALLOW_HTTP"`
	AllowedHosts         []string `yaml:"allowed_hosts" env:"ALLOWED_HOSTS"`
	MaxPerTask           int      `yaml:"max_per_task" env:"MAX_PER_TASK" validate:"gte=1,lte=10000"`
	// Workers is how many deliveries are under way at once, PerHost how many of
	// them to one host.
	Workers int           `yaml:"workers" env:"WORKERS" validate:"gte=1,lte=10000"`
	PerHost int           `yaml:"per_host" env:"PER_HOST" validate:"gte=1,lte=10000"`
	Timeout time.Duration `yaml:"timeout" env:"TIMEOUT" validate:"gt=0"`
	// Attempts is how often one delivery is tried before it is a dead letter.
	Attempts   int           `yaml:"attempts" env:"ATTEMPTS" validate:"gte=1,lte=1000"`
	RetryFirst time.Duration `yaml:"retry_first" env:"RETRY_FIRST" validate:"gt=0"`
	RetryMax   time.Duration `yaml:"retry_max" env:"RETRY_MAX" validate:"gt=0"`
	// Secrets sign deliveries (Standard Webhooks), the first one being the newest.
	Secrets []Secret `yaml:"secrets" env:"SECRETS"`
}

// GRPC is how gRPC is served, on a port of its own.
type GRPC struct {
	// Addr is the address to listen on; "" serves no gRPC.
	Addr string `yaml:"addr" env:"ADDR"`
	// PublicAddr is what the card names; see Public.
	PublicAddr      string `yaml:"public_addr" env:"PUBLIC_ADDR"`
	TLS             TLS    `yaml:"tls" envPrefix:"TLS_"`
	Reflection      bool   `yaml:"reflection" env:"REFLECTION"`
	MaxMessageBytes Size   `yaml:"max_message_bytes" env:"MAX_MESSAGE_BYTES" validate:"gte=1024,lte=2147483647"`
	MaxStreams      int    `yaml:"max_streams" env:"MAX_STREAMS" validate:"gte=1,lte=1000000"`
}

// Public returns the address under which clients reach gRPC, host and port: the
// configured one, else the host of publicURL with the port of Addr, else Addr. It is ""
// without gRPC, and when none of that is an address that others could use.
func (g GRPC) Public(publicURL string) string {
	host, port, err := net.SplitHostPort(g.Addr)
	switch {
	case g.Addr == "":
		return ""
	case g.PublicAddr != "":
		return g.PublicAddr
	case err != nil || port == "0":
		return ""
	}
	if u, err := url.Parse(publicURL); err == nil && u.Hostname() != "" {
		return net.JoinHostPort(u.Hostname(), port)
	}
	if a, err := netip.ParseAddr(host); host == "" || err == nil && a.IsUnspecified() {
		return ""
	}
	return g.Addr
}

// TLS names a certificate and its key; both or neither.
type TLS struct {
	CertFile string `yaml:"cert_file" env:"CERT_FILE"`
	KeyFile  string `yaml:"key_file" env:"KEY_FILE"`
}

// Skill is one skill. Zero limits take the defaults of package skills.
type Skill struct {
	ID             string        `yaml:"id" validate:"required"`
	Kind           string        `yaml:"kind" validate:"required"`
	Name           string        `yaml:"name"`
	Description    string        `yaml:"description"`
	Tags           []string      `yaml:"tags"`
	Examples       []string      `yaml:"examples"`
	InputModes     []string      `yaml:"input_modes"`
	OutputModes    []string      `yaml:"output_modes"`
	StrictInput    bool          `yaml:"strict_input"`
	Retry          string        `yaml:"retry" validate:"omitempty,oneof=never on_crash"`
	Concurrency    int           `yaml:"concurrency" validate:"gte=0,lte=100000"`
	Queue          int           `yaml:"queue"`
	Timeout        time.Duration `yaml:"timeout"`
	MaxOutputBytes Size          `yaml:"max_output_bytes" validate:"gte=0"`
	MaxAttempts    int           `yaml:"max_attempts" validate:"gte=0,lte=100"`
	QueueTotal     int           `yaml:"queue_total" validate:"gte=0"`
	Busy           string        `yaml:"busy" validate:"omitempty,oneof=refuse queue"`
	Serial         bool          `yaml:"serial"`
	AnswerWithin   time.Duration `yaml:"answer_within" validate:"gte=0"`
	DefaultAnswer  string        `yaml:"default_answer"`
	MaxValues      int           `yaml:"max_values" validate:"gte=0"`
	// InputSchema and OutputSchema are JSON Schemas of the skill's data; an empty one
	// leaves that of the kind.
	InputSchema  Document `yaml:"input_schema"`
	OutputSchema Document `yaml:"output_schema"`
	// Private keeps the skill off the public card, and from callers without a key.
	Private bool `yaml:"private"`
	// Settings are the kind's own.
	Settings Settings `yaml:"settings"`
}

// under returns path, or name in dataDir when path is "". A relative path is
// relative to the working directory, as on the command line.
func under(dataDir, path, name string) string {
	if path != "" {
		return path
	}
	return filepath.Join(dataDir, name)
}
