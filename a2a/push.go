package a2a

import "time"

// PushConfig is a client's webhook for one task (A2A 1.0 §4.3.1). Token and
// Credentials are secrets: they are stored and sent to the webhook, and never shown
// to anybody.
type PushConfig struct {
	// ID is unique within the task; "" in a request lets the server make one.
	ID     string `json:"id"`
	TaskID TaskID `json:"taskId"`
	URL    string `json:"url"`
	// Token is sent back to the webhook in a header, so that it knows the sender.
	Token string `json:"token,omitempty"`
	// Scheme and Credentials make the Authorization header, which is sent if there
	// are Credentials. Those need a Scheme; a Scheme may come alone.
	Scheme      string `json:"scheme,omitempty"`
	Credentials string `json:"credentials,omitempty"`
	// Dialect is the name of the dialect the config came in. Deliveries have its
	// shape.
	Dialect   string    `json:"dialect"`
	CreatedAt time.Time `json:"createdAt"`
}

// PushRequest names a push config, or all of a task, and brings one for Set.
type PushRequest struct {
	TaskID TaskID
	// ID is the config's; "" means the first one where the dialect has it so.
	ID     string
	Config PushConfig // of Set
}
