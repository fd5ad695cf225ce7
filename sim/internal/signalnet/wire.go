package signalnet

// The forms of signal-cli, as far as frames have them here.

type params struct {
	Account   string     `json:"account"`
	Envelope  *envelope  `json:"envelope,omitempty"`
	Exception *exception `json:"exception,omitempty"`
}

type exception struct {
	Message string `json:"message"`
	Type    string `json:"type"`
}

type envelope struct {
	Source          string          `json:"source"`
	SourceNumber    *string         `json:"sourceNumber"`
	SourceUUID      string          `json:"sourceUuid"`
	SourceName      *string         `json:"sourceName"`
	SourceDevice    int             `json:"sourceDevice"`
	Timestamp       int64           `json:"timestamp"`
	ServerReceived  int64           `json:"serverReceivedTimestamp"`
	ServerDelivered int64           `json:"serverDeliveredTimestamp"`
	DataMessage     *dataMessage    `json:"dataMessage,omitempty"`
	EditMessage     *editMessage    `json:"editMessage,omitempty"`
	SyncMessage     *syncMessage    `json:"syncMessage,omitempty"`
	ReceiptMessage  *receiptMessage `json:"receiptMessage,omitempty"`
	TypingMessage   *typingMessage  `json:"typingMessage,omitempty"`
}

type dataMessage struct {
	Timestamp          int64             `json:"timestamp"`
	Message            *string           `json:"message"`
	ExpiresInSeconds   int               `json:"expiresInSeconds"`
	IsExpirationUpdate bool              `json:"isExpirationUpdate"`
	ViewOnce           bool              `json:"viewOnce"`
	Reaction           *reaction         `json:"reaction,omitempty"`
	Quote              *quote            `json:"quote,omitempty"`
	Mentions           []mention         `json:"mentions,omitempty"`
	Attachments        []frameAttachment `json:"attachments,omitempty"`
	RemoteDelete       *remoteDelete     `json:"remoteDelete,omitempty"`
	GroupInfo          *groupInfo        `json:"groupInfo,omitempty"`
}

type editMessage struct {
	Target      int64        `json:"targetSentTimestamp"`
	DataMessage *dataMessage `json:"dataMessage"`
}

type syncMessage struct {
	Sent sentMessage `json:"sentMessage"`
}

// sentMessage is a message flattened, with whom it went to.
type sentMessage struct {
	Destination       *string `json:"destination"`
	DestinationNumber *string `json:"destinationNumber"`
	DestinationUUID   *string `json:"destinationUuid"`
	*dataMessage
	EditMessage *editMessage `json:"editMessage,omitempty"`
}

type receiptMessage struct {
	When       int64   `json:"when"`
	IsDelivery bool    `json:"isDelivery"`
	IsRead     bool    `json:"isRead"`
	IsViewed   bool    `json:"isViewed"`
	Timestamps []int64 `json:"timestamps"`
}

type typingMessage struct {
	Action    string `json:"action"`
	Timestamp int64  `json:"timestamp"`
	GroupID   string `json:"groupId,omitempty"`
}

type reaction struct {
	Emoji        string  `json:"emoji"`
	Author       string  `json:"targetAuthor"`
	AuthorNumber *string `json:"targetAuthorNumber"`
	AuthorUUID   string  `json:"targetAuthorUuid"`
	Timestamp    int64   `json:"targetSentTimestamp"`
	Remove       bool    `json:"isRemove"`
}

type quote struct {
	ID           int64   `json:"id"`
	Author       string  `json:"author"`
	AuthorNumber *string `json:"authorNumber"`
	AuthorUUID   string  `json:"authorUuid"`
	Text         string  `json:"text"`
	Attachments  []any   `json:"attachments"`
}

type mention struct {
	Name   string  `json:"name"`
	Number *string `json:"number"`
	UUID   string  `json:"uuid"`
	Start  int     `json:"start"`
	Length int     `json:"length"`
}

type frameAttachment struct {
	ContentType string  `json:"contentType"`
	Filename    *string `json:"filename"`
	ID          string  `json:"id"`
	Size        int     `json:"size"`
	Width       *int    `json:"width"`
	Height      *int    `json:"height"`
	Caption     *string `json:"caption"`
	Uploaded    int64   `json:"uploadTimestamp"`
}

type remoteDelete struct {
	Timestamp int64 `json:"timestamp"`
}

type groupInfo struct {
	GroupID   string  `json:"groupId"`
	GroupName *string `json:"groupName"`
	Revision  int     `json:"revision"`
	Type      string  `json:"type"`
}
