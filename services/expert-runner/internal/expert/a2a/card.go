package a2a

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// maxCard limits the size of a card, in bytes.
const maxCard = 1 << 20

// Card is the part of an agent's card that is used.
type Card struct {
	// Name and Description are for planners and people.
	Name, Description string
	// Skills are the names of its skills; Tags and Examples are those of the skills.
	Skills, Tags, Examples []string
	// Disabled, Hidden and Passthrough mean the same as on an expert's card.
	Disabled, Hidden, Passthrough bool
	// Digest is the SHA-256 of the card.
	Digest string

	version   version
	binding   string
	endpoint  *url.URL
	tenant    string
	streaming bool
	pushing   bool
	// takesData is false if the agent lists its input types without JSON.
	takesData bool
}

// version is a version of the A2A protocol.
type version string

// The supported versions.
const (
	version10 version = "1.0"
	version03 version = "0.3"
)

// The supported bindings of the protocol. HTTP+JSON is supported for 1.0 only, since the SDK renames keys inside data for
// 0.3.
const (
	bindingJSONRPC = "JSONRPC"
	bindingREST    = "HTTP+JSON"
)

// cardJSON is the card of either version, with the fields that are used.
type cardJSON struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Interfaces exists since 1.0.
	Interfaces []struct {
		URL     string `json:"url"`
		Binding string `json:"protocolBinding"`
		Version string `json:"protocolVersion"`
		Tenant  string `json:"tenant"`
	} `json:"supportedInterfaces"`
	// URL, Transport and Additional existed until 0.3.
	URL        string `json:"url"`
	Transport  string `json:"preferredTransport"`
	Additional []struct {
		URL       string `json:"url"`
		Transport string `json:"transport"`
	} `json:"additionalInterfaces"`
	Capabilities struct {
		Streaming bool `json:"streaming"`
		Push      bool `json:"pushNotifications"`
	} `json:"capabilities"`
	InputModes []string `json:"defaultInputModes"`
	Skills     []struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Tags        []string `json:"tags"`
		Examples    []string `json:"examples"`
	} `json:"skills"`
	// Enabled and Metadata are written by frameworks that keep cards in files.
	Enabled  *bool `json:"enabled"`
	Metadata struct {
		Hidden      bool `json:"hidden"`
		Passthrough bool `json:"planner_passthrough"`
	} `json:"metadata"`
}

// ReadCard parses an agent's card of either version. Missing fields stay empty, but the card must have an address with a
// supported version and binding.
func ReadCard(raw []byte) (*Card, error) {
	if len(raw) > maxCard {
		return nil, fmt.Errorf("the agent's card has more than %d bytes", maxCard)
	}
	var j cardJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, fmt.Errorf("the agent's card cannot be read: %w", err)
	}
	sum := sha256.Sum256(raw)
	c := &Card{
		Name: j.Name, Description: j.Description, Digest: hex.EncodeToString(sum[:]),
		Disabled: j.Enabled != nil && !*j.Enabled, Hidden: j.Metadata.Hidden, Passthrough: j.Metadata.Passthrough,
		streaming: j.Capabilities.Streaming, pushing: j.Capabilities.Push,
		takesData: len(j.InputModes) == 0 || slices.Contains(j.InputModes, "application/json") || slices.Contains(j.InputModes, "*/*"),
	}
	for _, s := range j.Skills {
		name := s.Name
		if name == "" {
			name = s.ID
		}
		c.Skills, c.Tags, c.Examples = append(c.Skills, name), append(c.Tags, s.Tags...), append(c.Examples, s.Examples...)
	}
	slices.Sort(c.Tags)
	c.Tags = slices.Compact(c.Tags)
	return c, c.choose(&j)
}

// choose takes the first address with the newest supported version.
func (c *Card) choose(j *cardJSON) error {
	type way struct{ url, binding, version, tenant string }
	var ways []way
	for _, i := range j.Interfaces {
		ways = append(ways, way{i.URL, i.Binding, i.Version, i.Tenant})
	}
	if len(ways) == 0 && j.URL != "" {
		ways = append(ways, way{j.URL, j.Transport, string(version03), ""})
		for _, i := range j.Additional {
			ways = append(ways, way{i.URL, i.Transport, string(version03), ""})
		}
	}
	var told []string
	for _, v := range []version{version10, version03} {
		for _, w := range ways {
			binding := strings.ToUpper(w.binding)
			if binding == "" {
				binding = bindingJSONRPC
			}
			told = append(told, fmt.Sprintf("%.40s %.20s", binding, w.version))
			if c.endpoint != nil || spoken(w.version) != v || binding != bindingJSONRPC && (binding != bindingREST || v == version03) {
				continue
			}
			u, err := url.Parse(w.url)
			if err != nil || badAddress(w.url) != "" {
				return errors.New("the agent's card has an address that is no http:// or https:// URL")
			}
			c.version, c.binding, c.endpoint, c.tenant = v, binding, u, w.tenant
		}
	}
	if c.endpoint != nil {
		return nil
	}
	if len(told) == 0 {
		return errors.New("the agent's card has no address: neither supportedInterfaces nor url")
	}
	slices.Sort(told)
	return fmt.Errorf("the agent's card names no way that is spoken here (JSONRPC of version 1.0 or 0.3, HTTP+JSON of 1.0), but %s", strings.Join(slices.Compact(told), ", "))
}

// spoken returns the supported version for a stated one, "" for none.
func spoken(stated string) version {
	switch {
	case stated == "" || stated == "1" || strings.HasPrefix(stated, "1."):
		return version10
	case strings.HasPrefix(stated, "0."):
		return version03
	}
	return ""
}

// Describe fills the empty fields of an expert's card.
func (c *Card) Describe(card *events.Card) {
	if card.Description == "" {
		card.Description = c.Description
	}
	if len(card.Skills) == 0 {
		card.Skills = c.Skills
	}
	if len(card.Tags) == 0 {
		card.Tags = c.Tags
	}
	if len(card.Examples) == 0 {
		card.Examples = c.Examples
	}
	card.Disabled, card.Hidden, card.Passthrough = card.Disabled || c.Disabled, card.Hidden || c.Hidden, card.Passthrough || c.Passthrough
}
