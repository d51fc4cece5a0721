package wire

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// PushForm is how a dialect's webhooks are told of a task. Exactly one of Event
// and Task is set. Both are pure.
type PushForm struct {
	// ContentType is the media type of a delivery's body.
	ContentType string
	// Event appends the body of the delivery of one event. t names the task (only
	// its id and context are read). It returns b as it was for events that webhooks
	// are not told of.
	Event func(b []byte, t *a2a.Task, ev *a2a.Event) []byte
	// Task appends the body of a delivery that shows the task as it is, and stands
	// for all of its events so far.
	Task func(b []byte, t *a2a.Task) []byte
}

// pushV1 is the form of A2A 1.0 (§4.3.3): a StreamResponse for each change of the
// status and each piece of output.
func (s *spelling) pushV1() *PushForm {
	stream := s.streamProto(NameV1)
	return &PushForm{
		ContentType: "application/a2a+json",
		Event: func(b []byte, t *a2a.Task, ev *a2a.Event) []byte {
			if ev.Status == nil && ev.Artifact == nil {
				return b
			}
			return stream.Event(b, t, ev)
		},
	}
}

// pushV03 is the form of A2A 0.3 (§9.5): the whole task.
func (s *spelling) pushV03() *PushForm {
	return &PushForm{
		ContentType: "application/json",
		Task:        func(b []byte, t *a2a.Task) []byte { return s.taskV03(b, t, a2a.View{}) },
	}
}

// setPushV1 decodes a push config whose members lie beside the task's id.
func (f *form) setPushV1(params []byte, lim Limits) (any, error) {
	r := newReader(params, lim, f.snake)
	req := &a2a.PushRequest{Config: a2a.PushConfig{Dialect: f.dialect}}
	err := r.params(params, func(name []byte) (err error) {
		if string(name) != "taskId" {
			return f.pushMember(r, &req.Config, name)
		}
		var id string
		id, err = r.id()
		req.TaskID = a2a.TaskID(id)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case req.TaskID == "":
		return nil, required("taskId")
	}
	return named(req, checkPush("", &req.Config))
}

// setPushV03 decodes a push config that is a member beside the task's id.
func (f *form) setPushV03(params []byte, lim Limits) (any, error) {
	req, err := f.setPushBeside("taskId", params, lim, func(r *reader) (a2a.TaskID, error) {
		id, err := r.id()
		return a2a.TaskID(id), err
	})
	return named(req, err)
}

// setPushBeside decodes a push config that stands beside the task's id: taskName is
// the id's member, which readID reads.
func (f *form) setPushBeside(taskName string, params []byte, lim Limits, readID func(*reader) (a2a.TaskID, error)) (*a2a.PushRequest, error) {
	r := newReader(params, lim, f.snake)
	req := &a2a.PushRequest{}
	var c *a2a.PushConfig
	err := r.params(params, func(name []byte) (err error) {
		switch string(name) {
		case taskName:
			req.TaskID, err = readID(r)
		case f.pushName:
			c, err = f.pushConfig(r)
		default:
			err = r.skip()
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case req.TaskID == "":
		return nil, required(taskName)
	case c == nil:
		return nil, required(f.pushName)
	}
	req.Config = *c
	return req, nil
}

// named copies the names of a decoded config to where the other has them too.
func named(req *a2a.PushRequest, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	req.Config.TaskID, req.ID = req.TaskID, req.Config.ID
	return req, nil
}

// pushNames returns a decoder of params that name a task and, unless configName is
// "", one of its push configs.
func (f *form) pushNames(taskName, configName string, configRequired bool) func([]byte, Limits) (any, error) {
	return func(params []byte, lim Limits) (any, error) {
		r := newReader(params, lim, f.snake)
		req := &a2a.PushRequest{}
		err := r.params(params, func(name []byte) (err error) {
			var id string
			switch string(name) {
			case taskName:
				id, err = r.id()
				req.TaskID = a2a.TaskID(id)
			case configName:
				req.ID, err = r.id()
			default:
				err = r.skip()
			}
			return err
		})
		switch {
		case err != nil:
			return nil, err
		case req.TaskID == "":
			return nil, required(taskName)
		case configRequired && req.ID == "":
			return nil, required(configName)
		}
		return req, nil
	}
}

// pushConfig reads a push config that is a value of its own; nil for null.
func (f *form) pushConfig(r *reader) (*a2a.PushConfig, error) {
	if r.d.PeekKind() == 'n' {
		return nil, r.skip()
	}
	path := r.path()
	c := &a2a.PushConfig{Dialect: f.dialect}
	if err := r.object(func(name []byte) error { return f.pushMember(r, c, name) }); err != nil {
		return nil, err
	}
	if c.ID == "" {
		c.ID = f.pushID
	}
	return c, checkPush(path+".", c)
}

// pushMember reads one member of a push config. The task that an inline config
// names is not looked at: it is the one of the message.
func (f *form) pushMember(r *reader, c *a2a.PushConfig, name []byte) (err error) {
	switch string(name) {
	case "id":
		c.ID, err = r.id()
	case "url":
		c.URL, err = r.webhook()
	case "token":
		c.Token, err = r.headerText()
	case "authentication":
		c.Scheme, c.Credentials = "", ""
		err = r.object(func(name []byte) (err error) {
			switch string(name) {
			case f.schemeName:
				c.Scheme, err = r.scheme()
			case "credentials":
				c.Credentials, err = r.headerText()
			default:
				err = r.skip()
			}
			return err
		})
		if err == nil && c.Credentials != "" && c.Scheme == "" {
			err = required(r.path() + "." + f.schemeName)
		}
	default:
		err = r.skip()
	}
	return err
}

// checkPush checks what only shows when all of a config was read.
func checkPush(prefix string, c *a2a.PushConfig) error {
	if c.URL == "" {
		return required(prefix + "url")
	}
	return nil
}

// webhook reads the URL of a webhook. Whether the server may call it is not
// decided here.
func (r *reader) webhook() (string, error) {
	s, present, err := r.text()
	if err != nil || !present {
		return "", err
	}
	if why := badWebhook(s, r.lim.MaxURLBytes); why != "" {
		return "", r.invalid(why)
	}
	return s, nil
}

// badWebhook says what is wrong with the URL of a webhook, or "".
func badWebhook(s string, max int) string {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return "is required"
	case len(s) > max:
		return "must not be longer than " + strconv.Itoa(max) + " bytes"
	case !printable(s):
		return "must be printable ASCII; escape other characters"
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return "must be an absolute http or https URL"
	case u.User != nil:
		return "must not hold a user or a password"
	}
	return ""
}

// headerText reads a text that becomes part of a header.
func (r *reader) headerText() (string, error) {
	s, _, err := r.text()
	if err != nil {
		return "", err
	}
	if why := badHeaderText(s, r.lim.MaxSecretBytes); why != "" {
		return "", r.invalid(why)
	}
	return s, nil
}

// scheme reads the name of an authentication scheme, or the first one of a list.
func (r *reader) scheme() (scheme string, err error) {
	read := func() error {
		s, err := r.headerText()
		if why := badScheme(s); err == nil && why != "" {
			err = r.invalid(why)
		}
		if scheme == "" {
			scheme = s
		}
		return err
	}
	if r.d.PeekKind() == '[' {
		err = r.array(read)
	} else {
		err = read()
	}
	return scheme, err
}

// badHeaderText says what is wrong with a text that becomes part of a header, or "".
func badHeaderText(s string, max int) string {
	switch {
	case len(s) > max:
		return "must not be longer than " + strconv.Itoa(max) + " bytes"
	case !printable(s):
		return "must be printable ASCII"
	}
	return ""
}

// badScheme says what is wrong with the name of an authentication scheme, or "".
func badScheme(s string) string {
	if strings.ContainsFunc(s, func(c rune) bool { return !tokenChar(c) }) {
		return "must be the name of an authentication scheme such as Bearer"
	}
	return ""
}

// printable reports whether s has only printable ASCII characters and spaces.
func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// tokenChar reports whether c may be part of a token (RFC 9110 §5.6.2).
func tokenChar(c rune) bool {
	switch {
	case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		return true
	}
	return strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}

// appendPush returns the encoder of one config.
func appendPush(config func([]byte, *a2a.PushConfig) []byte) func([]byte, any, a2a.View) []byte {
	return func(b []byte, res any, _ a2a.View) []byte { return config(b, res.(*a2a.PushConfig)) }
}

// appendPushV1 appends a TaskPushNotificationConfig, without its secrets.
func appendPushV1(b []byte, c *a2a.PushConfig) []byte {
	b = append(b, '{')
	b = stringMember(b, "id", c.ID)
	b = stringMember(b, "taskId", string(c.TaskID))
	b = stringMember(b, "url", c.URL)
	if c.Scheme != "" {
		b = append(key(b, "authentication"), '{')
		b = append(stringMember(b, "scheme", c.Scheme), '}')
	}
	return append(b, '}')
}

// appendPushV03 appends a TaskPushNotificationConfig, without its secrets.
func appendPushV03(b []byte, c *a2a.PushConfig) []byte {
	b = append(b, '{')
	b = stringMember(b, "taskId", string(c.TaskID))
	return append(appendPushConfigV03(key(b, "pushNotificationConfig"), c), '}')
}

// appendPushConfigV03 appends a PushNotificationConfig, without its secrets.
func appendPushConfigV03(b []byte, c *a2a.PushConfig) []byte {
	b = append(b, '{')
	b = stringMember(b, "id", c.ID)
	b = stringMember(b, "url", c.URL)
	if c.Scheme != "" {
		b = append(key(b, "authentication"), '{')
		b = append(stringsMember(b, "schemes", []string{c.Scheme}), '}')
	}
	return append(b, '}')
}

// appendPushListV1 appends a ListTaskPushNotificationConfigsResponse. There is
// only one page: the number of configs of a task is limited.
func appendPushListV1(b []byte, res any, _ a2a.View) []byte {
	b = append(b, `{"configs":`...)
	b = appendPushList(b, res.([]a2a.PushConfig), appendPushV1)
	b = stringMember(b, "nextPageToken", "")
	return append(b, '}')
}

func appendPushListV03(b []byte, res any, _ a2a.View) []byte {
	return appendPushList(b, res.([]a2a.PushConfig), appendPushV03)
}

func appendPushList(b []byte, list []a2a.PushConfig, config func([]byte, *a2a.PushConfig) []byte) []byte {
	b = append(b, '[')
	for i := range list {
		b = config(element(b), &list[i])
	}
	return append(b, ']')
}

func appendNull(b []byte, _ any, _ a2a.View) []byte { return append(b, "null"...) }
