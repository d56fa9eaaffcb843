package llm

import (
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// openAI is the address of OpenAI's API.
const openAI = "https://api.openai.com/v1"

// dialect returns the dialect of a model: the configured one, else the one that its address indicates, else chat.
func (m ModelConfig) dialect() Dialect {
	switch api := Dialect(m.API); api {
	case DialectChat, DialectResponses, DialectAnthropic, DialectGemini:
		return api
	}
	u, err := url.Parse(m.BaseURL)
	if err != nil {
		return DialectChat
	}
	at := strings.TrimRight(u.Path, "/")
	switch {
	case u.Hostname() == "api.anthropic.com", path.Base(strings.TrimSuffix(at, "/v1")) == "anthropic":
		return DialectAnthropic
	case u.Hostname() == "generativelanguage.googleapis.com" && path.Base(at) != "openai":
		return DialectGemini
	}
	return DialectChat
}

// version matches the part of an address that names a version of an API.
var version = regexp.MustCompile(`^v\d\w*$`)

// address returns the address of the API. It adds the version to addresses of Anthropic and Google, which are usually given without
// it.
func (m ModelConfig) address() string {
	given, standard, versioned := strings.TrimRight(m.BaseURL, "/"), openAI, ""
	switch m.dialect() {
	case DialectAnthropic:
		standard, versioned = anthropicBase, "/v1"
	case DialectGemini:
		standard, versioned = geminiBase, "/v1beta"
	}
	switch {
	case given == "":
		return standard
	case versioned != "" && !version.MatchString(path.Base(given)):
		return given + versioned
	}
	return given
}

// near reports whether an address belongs to this machine or to a private network. A name without a dot is that of a container or of a
// machine in the same network.
func near(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") || strings.HasSuffix(host, ".localhost")
}
