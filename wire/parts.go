package wire

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// partMembers are the members of a part in any dialect.
type partMembers struct {
	kind      string // kind, or type of the older drafts
	text      string
	raw       string
	url       string
	data      json.RawMessage
	metadata  json.RawMessage
	filename  string
	mediaType string

	hasText, hasRaw, hasURL, hasData, hasFile bool
}

// contents counts the content members.
func (m *partMembers) contents() (n int) {
	for _, has := range [...]bool{m.hasText, m.hasRaw, m.hasURL, m.hasData} {
		if has {
			n++
		}
	}
	return n
}

// part returns the part made of the members; exactly one content is expected.
func (m *partMembers) part() a2a.Part {
	p := a2a.Part{MediaType: m.mediaType, Filename: m.filename, Metadata: m.metadata}
	switch {
	case m.hasText:
		p.Kind, p.Text = a2a.PartText, m.text
	case m.hasRaw:
		p.Kind, p.Raw = a2a.PartRaw, m.raw
	case m.hasURL:
		p.Kind, p.URL = a2a.PartURL, m.url
	case m.hasData:
		p.Kind, p.Data = a2a.PartData, m.data
	}
	return p
}

// partV1 reads a part of 1.0: exactly one of text, raw, url and data. Data may be
// null (A2A 1.0 §4.1.6).
func (r *reader) partV1() (a2a.Part, bool, error) {
	if err := r.wantObject(); err != nil {
		return a2a.Part{}, false, err
	}
	var m partMembers
	err := r.object(func(name []byte) (err error) {
		switch string(name) {
		case "text":
			m.text, m.hasText, err = r.text()
		case "raw":
			m.raw, m.hasRaw, err = r.base64()
		case "url":
			m.url, m.hasURL, err = r.text()
		case "data":
			m.hasData = true
			m.data, err = r.raw()
		case "metadata":
			m.metadata, err = r.rawObject()
		case "filename":
			m.filename, _, err = r.text()
		case "mediaType":
			m.mediaType, _, err = r.text()
		default:
			err = r.skip()
		}
		return err
	})
	if err == nil && m.contents() != 1 {
		err = r.invalid("must have exactly one of text, raw, url and data")
	}
	return m.part(), true, err
}

// partV03 reads a part of 0.3, by its kind, by the type of the drafts, or by the
// one content member it has.
func (r *reader) partV03() (a2a.Part, bool, error) {
	p, _, err := r.partOld()
	unwrapData(&p)
	return p, true, err
}

// partOld reads a part of 0.3 and returns the kind that it says it is of.
func (r *reader) partOld() (p a2a.Part, kind string, err error) {
	if err := r.wantObject(); err != nil {
		return p, "", err
	}
	var m partMembers
	err = r.object(func(name []byte) (err error) {
		switch string(name) {
		case "kind", "type":
			err = r.partKind(&m)
		case "text":
			m.text, m.hasText, err = r.text()
		case "data":
			if m.data, err = r.rawObject(); m.data != nil {
				m.hasData = true
			}
		case "file":
			err = r.file(&m)
		case "metadata":
			m.metadata, err = r.rawObject()
		default:
			err = r.skip()
		}
		return err
	})
	if err != nil {
		return p, "", err
	}
	switch {
	case m.kind != "" && m.kind != "text" && m.kind != "file" && m.kind != "data":
		return p, "", r.invalid("must be of kind text, file or data")
	case m.hasFile && !m.hasRaw && !m.hasURL, m.contents() != 1,
		m.kind == "text" && !m.hasText, m.kind == "data" && !m.hasData, m.kind == "file" && !m.hasFile:
		return p, "", r.invalid("must have the content of its kind, and no other: text, file with bytes or uri, or data")
	}
	return m.part(), m.kind, nil
}

// partKind reads the kind of a part; an empty one does not undo another.
func (r *reader) partKind(m *partMembers) error {
	kind, _, err := r.text()
	if kind != "" {
		m.kind = kind
	}
	return err
}

// file reads the file member of the older dialects.
func (r *reader) file(m *partMembers) error {
	m.hasFile, m.hasRaw, m.hasURL = r.d.PeekKind() == '{', false, false
	return r.object(func(name []byte) (err error) {
		switch string(name) {
		case "bytes", "fileWithBytes":
			m.raw, m.hasRaw, err = r.base64()
		case "uri", "fileWithUri":
			m.url, m.hasURL, err = r.text()
		case "name":
			m.filename, _, err = r.text()
		case "mimeType", "mediaType":
			var t string
			if t, _, err = r.text(); t != "" {
				m.mediaType = t
			}
		default:
			err = r.skip()
		}
		return err
	})
}

// dataPartCompat marks a 0.3 data part that wraps a value 0.3 cannot represent.
const dataPartCompat = "data_part_compat"

// unwrapData undoes wrapData: data {"value":x} with the mark is the value x.
func unwrapData(p *a2a.Part) {
	if p.Kind != a2a.PartData || string(lookup(p.Metadata, dataPartCompat)) != "true" {
		return
	}
	if v := lookup(p.Data, "value"); v != nil && without(p.Data, "value") == nil {
		p.Data, p.Metadata = v, without(p.Metadata, dataPartCompat)
	}
}

// partEMM reads a part of the EMM dialect and reports whether it can be used.
// What has no known content is skipped, whatever else it is: the task says what
// is missing. Data may be any value; files are for the mapper to refuse.
func (r *reader) partEMM() (a2a.Part, bool, error) {
	if r.d.PeekKind() != '{' {
		return a2a.Part{}, false, r.skip()
	}
	r.soft = true
	defer func() { r.soft = false }()
	var m partMembers
	err := r.object(func(name []byte) (err error) {
		switch string(name) {
		case "kind", "type":
			err = r.partKind(&m)
		case "text":
			m.text, m.hasText, err = r.text()
		case "data":
			m.data, err = r.raw()
			m.hasData = !isNull(m.data)
		case "bytes":
			m.raw, m.hasRaw, err = r.base64()
		case "url", "uri":
			m.url, m.hasURL, err = r.text()
		case "file":
			err = r.file(&m)
		case "name", "filename":
			m.filename, _, err = r.text()
		case "mimeType", "mediaType":
			m.mediaType, _, err = r.text()
		case "metadata":
			m.metadata, err = r.rawObject()
		default:
			err = r.skip()
		}
		return err
	})
	// Where a part has several contents, its kind says which one is meant.
	switch m.kind {
	case "text":
		m.hasRaw, m.hasURL, m.hasData = false, false, false
	case "data":
		m.hasText, m.hasRaw, m.hasURL = false, false, false
	case "":
	default: // a file by any name
		m.hasText, m.hasData = false, false
	}
	return m.part(), m.contents() > 0, err
}

// wantObject blames the next value unless it is an object. Unlike elsewhere, null
// is none.
func (r *reader) wantObject() error {
	if r.d.PeekKind() == '{' {
		return nil
	}
	if err := r.skip(); err != nil {
		return err
	}
	return r.invalid("must be an object")
}

// parts reads the parts of a message with the given part reader.
func (r *reader) parts(read func(*reader) (a2a.Part, bool, error)) (parts []a2a.Part, err error) {
	n := 0
	err = r.array(func() error {
		if n++; n > r.lim.MaxParts {
			last := r.path() // of the last part that was within the limit
			return a2a.InvalidParams(last[:strings.LastIndexByte(last, '[')], "must not have more than "+strconv.Itoa(r.lim.MaxParts)+" elements")
		}
		p, ok, err := read(r)
		if ok && err == nil {
			parts = append(parts, p)
		}
		return err
	})
	return parts, err
}

// base64 reads file content in either base64 alphabet, padded or not, and returns
// it in the standard alphabet with padding.
func (r *reader) base64() (s string, present bool, err error) {
	if s, present, err = r.text(); err != nil || !present {
		return "", false, err
	}
	s, present = normalBase64(s)
	if !present && !r.soft {
		err = r.invalid("must be base64")
	}
	return s, present, err
}

func normalBase64(s string) (string, bool) {
	digits := strings.TrimRight(s, "=")
	if pad := len(s) - len(digits); pad > 0 && (pad > 2 || len(s)%4 != 0) {
		return "", false
	}
	if strings.ContainsAny(digits, "\r\n") { // the decoder would skip them
		return "", false
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(digits, "-_") {
		enc = base64.RawURLEncoding
	}
	content, err := enc.DecodeString(digits)
	if err != nil {
		return "", false
	}
	return base64.StdEncoding.EncodeToString(content), true
}

// appendPartV1 writes a part as 1.0 has it.
func appendPartV1(b []byte, p *a2a.Part) []byte {
	b = append(b, '{')
	switch p.Kind {
	case a2a.PartRaw:
		b = stringMember(b, "raw", p.Raw)
	case a2a.PartURL:
		b = stringMember(b, "url", p.URL)
	case a2a.PartData:
		b = rawMember(b, "data", p.Data)
	default:
		b = stringMember(b, "text", p.Text)
	}
	b = optionalMember(b, "mediaType", p.MediaType)
	b = optionalMember(b, "filename", p.Filename)
	if len(p.Metadata) > 0 {
		b = rawMember(b, "metadata", p.Metadata)
	}
	return append(b, '}')
}

// appendPartV03 writes a part as 0.3 has it, by its kind.
func appendPartV03(b []byte, p *a2a.Part) []byte {
	return appendOldPart(b, p, `"kind":`)
}

// appendOldPart writes a part as 0.1 to 0.3 have it; tag is the member that tells
// the parts apart, with its colon. What they have no member for (the media type of a
// text, the file name of a text or of data) goes to the metadata; data that is no
// object is wrapped as the SDKs do.
func appendOldPart(b []byte, p *a2a.Part, tag string) []byte {
	b = append(append(b, '{'), tag...)
	wrapped := false
	switch p.Kind {
	case a2a.PartRaw, a2a.PartURL:
		b = append(b, `"file",`...)
		b = appendFile(b, p)
	case a2a.PartData:
		b = append(b, `"data"`...)
		if wrapped = !isObject(p.Data); wrapped {
			b = append(b, `,"data":{`...)
			b = append(rawMember(b, "value", p.Data), '}')
		} else {
			b = rawMember(b, "data", p.Data)
		}
	default:
		b = append(b, `"text"`...)
		b = stringMember(b, "text", p.Text)
	}
	return append(appendSideMetadata(b, p, wrapped), '}')
}

// appendPartEMM writes a part as EMM clients read it: by type, with the kind of
// 0.3 beside it. Data may be any value.
func appendPartEMM(b []byte, p *a2a.Part) []byte {
	b = append(b, '{')
	switch p.Kind {
	case a2a.PartRaw, a2a.PartURL:
		b = append(b, `"type":"file","kind":"file",`...)
		b = appendFile(b, p)
	case a2a.PartData:
		b = append(b, `"type":"data","kind":"data"`...)
		b = rawMember(b, "data", p.Data)
	default:
		b = append(b, `"type":"text","kind":"text"`...)
		b = stringMember(b, "text", p.Text)
	}
	return append(appendSideMetadata(b, p, false), '}')
}

// appendFile appends the file member of the older dialects.
func appendFile(b []byte, p *a2a.Part) []byte {
	b = append(b, `"file":{`...)
	if p.Kind == a2a.PartRaw {
		b = stringMember(b, "bytes", p.Raw)
	} else {
		b = stringMember(b, "uri", p.URL)
	}
	b = optionalMember(b, "mimeType", p.MediaType)
	b = optionalMember(b, "name", p.Filename)
	return append(b, '}')
}

// appendSideMetadata appends the metadata member of a part of the older dialects.
func appendSideMetadata(b []byte, p *a2a.Part, wrapped bool) []byte {
	var mediaType, filename string
	if p.Kind == a2a.PartText || p.Kind == a2a.PartData {
		filename = p.Filename
		if p.Kind == a2a.PartText && p.MediaType != "text/plain" || p.Kind == a2a.PartData && p.MediaType != "application/json" {
			mediaType = p.MediaType
		}
	}
	if len(p.Metadata) == 0 && mediaType == "" && filename == "" && !wrapped {
		return b
	}
	own := p.Metadata
	if wrapped {
		own = without(own, dataPartCompat)
	}
	b = openObject(key(b, "metadata"), own)
	if mediaType != "" && lookup(p.Metadata, "mediaType") == nil {
		b = stringMember(b, "mediaType", mediaType)
	}
	if filename != "" && lookup(p.Metadata, "filename") == nil {
		b = stringMember(b, "filename", filename)
	}
	if wrapped {
		b = append(key(b, dataPartCompat), "true"...)
	}
	return append(b, '}')
}
