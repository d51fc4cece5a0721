package client

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// decodeList reads a page of tasks.
func decodeList(b []byte) (*a2a.ListResult, error) {
	var raw struct {
		Tasks []json.RawMessage `json:"tasks"`
		Next  loose             `json:"nextPageToken"`
		Size  int               `json:"pageSize"`
		Total int               `json:"totalSize"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	res := &a2a.ListResult{NextPageToken: string(raw.Next), PageSize: raw.Size, TotalSize: raw.Total}
	for i, r := range raw.Tasks {
		t, err := decodeTask(r)
		if err != nil {
			return nil, errors.New("task " + strconv.Itoa(i) + ": " + err.Error())
		}
		res.Tasks = append(res.Tasks, t)
	}
	return res, nil
}

// decodePush reads a push config, bare (1.0) or under its name (0.3).
func decodePush(b []byte) (*a2a.PushConfig, error) {
	var raw struct {
		TaskID loose           `json:"taskId"`
		ID     loose           `json:"id"`
		Name   loose           `json:"name"`
		URL    loose           `json:"url"`
		Token  loose           `json:"token"`
		Inner  json.RawMessage `json:"pushNotificationConfig"`
		Auth   struct {
			Scheme      loose   `json:"scheme"`
			Schemes     []loose `json:"schemes"` // 0.3
			Credentials loose   `json:"credentials"`
		} `json:"authentication"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	p := &a2a.PushConfig{
		TaskID: a2a.TaskID(raw.TaskID), ID: string(raw.ID), URL: string(raw.URL), Token: string(raw.Token),
		Scheme: string(raw.Auth.Scheme), Credentials: string(raw.Auth.Credentials),
	}
	if p.Scheme == "" && len(raw.Auth.Schemes) > 0 {
		p.Scheme = string(raw.Auth.Schemes[0])
	}
	if isObject(raw.Inner) {
		inner, err := decodePush(raw.Inner)
		if err != nil {
			return nil, err
		}
		inner.TaskID = p.TaskID
		p = inner
	}
	// tasks/{task}/pushNotificationConfigs/{id} in the older ProtoJSON
	if name := strings.Split(string(raw.Name), "/"); len(name) == 4 {
		p.TaskID, p.ID = a2a.TaskID(name[1]), name[3]
	}
	if p.URL == "" {
		return nil, errors.New("it is no push config: it has no url")
	}
	return p, nil
}

// decodePushList reads the push configs of a task: a list (0.3), or under "configs".
func decodePushList(b []byte) ([]a2a.PushConfig, error) {
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		var raw struct {
			Configs []json.RawMessage `json:"configs"`
		}
		if err := json.Unmarshal(b, &raw); err != nil {
			return nil, err
		}
		list = raw.Configs
	}
	var configs []a2a.PushConfig
	for _, r := range list {
		p, err := decodePush(r)
		if err != nil {
			return nil, err
		}
		configs = append(configs, *p)
	}
	return configs, nil
}
